/**
 * Bytes that flow for long: whether their caller still may is asked again from time to time, as for streams of events.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { Visit } from './route.ts'

const RECHECK_MS = 15_000

export interface Allowed {
  /** Fires when the caller leaves, and with the refusal as its reason when the key is not good any more. */
  readonly signal: AbortSignal
  /** Asks no more. */
  release(): void
}

export function whileAllowed({ signal, recheck }: Pick<Visit, 'signal' | 'recheck'>): Allowed {
  const refused = new AbortController()
  const timer = setInterval(() => void recheck().catch((error: unknown) => refused.abort(error)), RECHECK_MS)
  return { signal: AbortSignal.any([signal, refused.signal]), release: () => clearInterval(timer) }
}
