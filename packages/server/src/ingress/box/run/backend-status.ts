/**
 * Whether the backend can serve Box clients: it answers, and does not refuse what every client asks for.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { BoxBackendInfo } from '@holdfast/protocol/box'

export interface BackendStatusNeeds {
  readonly name: string
  /** Rejects when the backend does not answer. */
  list(): Promise<unknown>
  /** Throws what a session with the usual spec is refused for, such as limits that cannot be kept here. */
  checkUsual(): Promise<void>
}

export function backendStatus({ name, list, checkUsual }: BackendStatusNeeds): () => Promise<BoxBackendInfo> {
  /** What is not refused once is not refused later: it depends on the machine and the configuration. */
  let isUsable = false

  async function refusal(): Promise<string | null> {
    if (isUsable) return null
    try {
      await checkUsual()
      isUsable = true
      return null
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      return error.message
    }
  }

  return async () => {
    const answers = await list().then(
      () => true,
      () => false,
    )
    if (!answers) return { name, available: false, reason: `${name} does not answer` }
    const reason = await refusal()
    return reason === null ? { name, available: true } : { name, available: false, reason: `every session is refused: ${reason}` }
  }
}
