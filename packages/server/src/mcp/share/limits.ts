/**
 * How much of everything one shared server may take.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
export interface ShareLimits {
  /** Of one message, either way. */
  readonly messageBytes: number
  /** Of what waits for a server that does not read. */
  readonly waitingBytes: number
  readonly clients: number
  readonly calls: number
  readonly subscriptionsPerClient: number
  /** For an answer to the first word in the way of 2026, which a server of before may not give. */
  readonly probeMs: number
  /** For all of its first words. */
  readonly handshakeMs: number
  /** Without an answer and without progress. */
  readonly requestMs: number
}

export const SHARE_LIMITS: ShareLimits = {
  messageBytes: 16 * 1024 * 1024,
  waitingBytes: 32 * 1024 * 1024,
  clients: 4096,
  calls: 1024,
  subscriptionsPerClient: 1024,
  probeMs: 3_000,
  handshakeMs: 10_000,
  requestMs: 300_000,
}
