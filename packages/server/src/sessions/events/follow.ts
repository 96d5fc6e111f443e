/**
 * Reads new events as they are committed: read a page, hand it out, wait to be woken.
 *
 * Holds one page at most. Events of other servers on the same database wake nobody here: `pollMs` bounds how late they are seen.
 */
import type { EventListeners } from './event-listeners.ts'

/** The first wait after something happened: on PostgreSQL an event may be committed and not yet be settled. */
const SHORTEST_WAIT_MS = 20

export interface FollowOptions<E> {
  readonly listeners: EventListeners
  readonly topic: string
  /** `null`: only this process writes events, so that the bell is enough. */
  readonly pollMs: number | null
  readonly signal: AbortSignal
  /** The events after those it gave before; `isMore` when there may be more at once. */
  next(): Promise<{ readonly events: readonly E[]; readonly isMore: boolean }>
}

/** Gives pages that have events. Ends when the signal is aborted. */
export async function* follow<E>({ listeners, topic, pollMs, signal, next }: FollowOptions<E>): AsyncGenerator<readonly E[], void, void> {
  let hasRung = false
  let ring = () => {}
  const end = listeners.listen(topic, () => {
    hasRung = true
    ring()
  })
  let waitMs = SHORTEST_WAIT_MS
  try {
    while (!signal.aborted) {
      hasRung = false
      const { events, isMore } = await next()
      if (signal.aborted) return
      if (events.length > 0) yield events
      if (events.length > 0 || hasRung) waitMs = SHORTEST_WAIT_MS
      if (isMore || hasRung) continue
      await wait(pollMs === null ? null : Math.min(waitMs, pollMs))
      waitMs *= 2
    }
  } finally {
    end()
  }

  async function wait(milliseconds: number | null): Promise<void> {
    await new Promise<void>((resolve) => {
      if (signal.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        ring = () => {}
        resolve()
      }
      const timer = milliseconds === null ? undefined : setTimeout(done, milliseconds)
      signal.addEventListener('abort', done)
      ring = () => {
        waitMs = SHORTEST_WAIT_MS
        done()
      }
    })
  }
}
