/**
 * A sandbox together with the open connection to its inside: made as one, ended as one.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * The connection stays open for the sandbox's life, so that a warm command costs no dial and no engine call. When it
 * closes, the sandbox is of no more use to its owner and is destroyed, whatever closed it.
 */
import { connectInside } from '../guest/guest-inside.ts'
import type { Inside } from '../guest/inside.ts'
import type { OnProgress, Sandbox, SandboxBackend } from './backend.ts'
import type { SandboxSpec } from './spec.ts'

/** A guest that is frozen but connected is noticed by its silence; slow enough to cost nothing with a thousand sandboxes. */
const HEARTBEAT = { intervalMs: 20_000, timeoutMs: 60_000 }

export interface LiveSandbox {
  readonly name: string
  readonly inside: Inside
  readonly isAlive: boolean
  /** Resolves once the connection is over, with the reason. */
  readonly died: Promise<Error>
  /** Removes everything. Calling it again waits for the same removal. */
  destroy(): Promise<void>
}

/** A failure at any step leaves nothing behind. */
export async function launchSandbox(
  backend: SandboxBackend,
  name: string,
  spec: SandboxSpec,
  signal?: AbortSignal,
  onProgress?: OnProgress,
): Promise<LiveSandbox> {
  const sandbox = await backend.create(name, spec, signal, onProgress)
  try {
    const inside = await connect(sandbox, signal)
    return liveSandbox(backend, name, inside)
  } catch (error) {
    await backend.destroy(name)
    throw error
  }
}

async function connect(sandbox: Sandbox, signal: AbortSignal | undefined): Promise<Inside> {
  const connection = await sandbox.dial(signal)
  try {
    return await connectInside(connection, { heartbeat: HEARTBEAT })
  } catch (error) {
    connection.destroy()
    throw error
  }
}

function liveSandbox(backend: SandboxBackend, name: string, inside: Inside): LiveSandbox {
  let isAlive = true
  let removal: Promise<void> | null = null
  const died = inside.closed.then((reason) => {
    isAlive = false
    return reason
  })
  return {
    name,
    inside,
    died,
    get isAlive() {
      return isAlive
    },
    destroy() {
      isAlive = false
      removal ??= Promise.resolve(inside.close()).then(() => backend.destroy(name))
      return removal
    },
  }
}
