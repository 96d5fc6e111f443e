/**
 * The time of the first words with a server: altogether they take no longer than they may, however many there are.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
import type { HandshakeNeeds } from './handshake.ts'

type TimedNeeds = Pick<HandshakeNeeds, 'request' | 'limits'>

/** From now on; `clock` in milliseconds. */
export function inTime({ request, limits }: TimedNeeds, clock: () => number): TimedNeeds {
  const { probeMs, handshakeMs } = limits
  const endsAt = clock() + handshakeMs
  return {
    // Whoever does not know the first word may be silent, and needs time for the other.
    limits: { handshakeMs, probeMs: Math.min(probeMs, handshakeMs / 2) },
    request: (method, params, timeoutMs) => request(method, params, Math.max(1, Math.min(timeoutMs, endsAt - clock()))),
  }
}
