/** Flags of `sandbox run` and `exec` to values, each refused with a sentence that names the flag. */
import { HoldfastError } from '@holdfast/protocol/errors'

export interface MountWish {
  readonly source: string
  readonly target: string
  readonly mode: 'ro' | 'rw'
}

const MAXIMUM_SECONDS = 30 * 24 * 3600

/** `source:target[:ro|rw]`, read-only unless it says otherwise. */
export function parseMount(text: string): MountWish {
  const [source = '', target = '', mode = 'ro', ...rest] = text.split(':')
  const isComplete = source !== '' && target !== '' && rest.length === 0
  if (!isComplete || (mode !== 'ro' && mode !== 'rw'))
    throw refused(`--mount ${JSON.stringify(text)} must be source:target, source:target:ro or source:target:rw`)
  if (!source.startsWith('/'))
    throw refused(`--mount ${JSON.stringify(text)}: the source must be an absolute path, such as "$PWD/${source}"`)
  if (!target.startsWith('/')) throw refused(`--mount ${JSON.stringify(text)}: the target must be an absolute path, such as /workspace`)
  return { source, target, mode }
}

export function parseEnvironment(assignments: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    assignments.map((text) => {
      const equals = text.indexOf('=')
      if (equals < 1) throw refused(`--env ${JSON.stringify(text)} must be name=value`)
      return [text.slice(0, equals), text.slice(equals + 1)]
    }),
  )
}

export function parseTimeoutMs(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(seconds > 0 && seconds <= MAXIMUM_SECONDS))
    throw refused(`--timeout ${JSON.stringify(text)} must be a number of seconds above 0 and at most ${MAXIMUM_SECONDS}`)
  return Math.max(1, Math.round(seconds * 1000))
}

function refused(message: string): HoldfastError {
  return new HoldfastError('invalid_request', message)
}
