/**
 * What every call takes besides its own options.
 */

export interface CallOptions {
  /** Ends the call; its reason is what is thrown. */
  readonly signal?: AbortSignal | undefined
  /** How long to wait for the answer, retries included. The client's own unless given. */
  readonly timeoutMs?: number | undefined
}

/** For what goes on for as long as somebody reads it. */
export interface StreamOptions {
  readonly signal?: AbortSignal | undefined
  /** For how long a lost server is looked for before the stream fails; a minute unless given. */
  readonly reconnectMs?: number | undefined
}

export function callOf({ signal, timeoutMs }: CallOptions): CallOptions {
  return { signal, timeoutMs }
}
