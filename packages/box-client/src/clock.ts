/**
 * Time as a need: everything here that waits, waits on this, so that tests wait for nothing.
 */

export interface BoxClock {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls once after so long; gives what cancels it. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: BoxClock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** Ends early, without an error, when the signal fires. */
export async function pause(clock: BoxClock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
  cancel()
}
