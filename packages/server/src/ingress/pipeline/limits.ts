/** What callers may have in flight at one time, and connections without a request. The settings `in_flight.*` and `connections.*` change it. */
/** How much one caller, one tenant, and all together may have. */
export interface Shares {
  readonly perCaller: number
  readonly perTenant: number
  readonly total: number
}

export interface WorkLimits {
  /** Of messages: their text, and what parsing makes of it. */
  readonly bytes: Shares
  /** Answers and sockets that stay open. The caller is the key, whomever it speaks for. */
  readonly streams: Shares
}

export const WORK_LIMITS: WorkLimits = {
  bytes: { perCaller: 64 * 1024 * 1024, perTenant: 128 * 1024 * 1024, total: 256 * 1024 * 1024 },
  streams: { perCaller: 1_024, perTenant: 4_096, total: 8_192 },
}

export interface ConnectionLimits {
  /** A connection that has not sent a complete header after so long is closed, up to half of it later. */
  readonly headerTimeoutMs: number
  /** Connections without a complete header; above it the oldest is closed. */
  readonly incomplete: number
  /** How long the rest of a body is read and discarded after its request was answered. */
  readonly discardMs: number
}

export const CONNECTION_LIMITS: ConnectionLimits = { headerTimeoutMs: 60_000, incomplete: 1024, discardMs: 10_000 }
