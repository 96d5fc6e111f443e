/**
 * How much of everything the gateway to MCP servers takes from its clients.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
export interface GatewayLimits {
  /** Of one message of a client. */
  readonly bodyBytes: number
  /** Of one that is remembered for as long as its client is there. */
  readonly firstBytes: number
  /** Of clients up to 2025-11-25, which begin with `initialize`. */
  readonly sessions: number
  /** Of one who asks. Above, the one that was not used for longest makes room. */
  readonly sessionsPerVisitor: number
  /** A session that is not used and has no open stream for so long is over. */
  readonly sessionIdleMs: number
  /** Open `subscriptions/listen`. */
  readonly listeners: number
  readonly listenersPerVisitor: number
  /** Under way at once, of one who asks. */
  readonly callsPerVisitor: number
  /** What waits for a reader who is slow; above, notifications are lost. */
  readonly waitingMessages: number
  readonly waitingBytes: number
  /** The same of all who are slow. */
  readonly allWaitingBytes: number
  /** A call that is not answered by then is answered with a stream, which proxies do not cut. */
  readonly patienceMs: number
  readonly keepAliveMs: number
}

export const GATEWAY_LIMITS: GatewayLimits = {
  bodyBytes: 16 * 1024 * 1024,
  firstBytes: 128 * 1024,
  sessions: 4096,
  sessionsPerVisitor: 256,
  sessionIdleMs: 30 * 60_000,
  listeners: 1024,
  listenersPerVisitor: 256,
  callsPerVisitor: 512,
  waitingMessages: 4096,
  waitingBytes: 4 * 1024 * 1024,
  allWaitingBytes: 64 * 1024 * 1024,
  patienceMs: 15_000,
  keepAliveMs: 15_000,
}
