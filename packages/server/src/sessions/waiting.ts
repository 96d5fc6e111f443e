/**
 * Waits until a session is as wished: woken by its events here, and by a look now and then for what other servers do.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SessionRef, SessionRow } from '../store/tables/sessions.ts'
import { noSuchSession } from './change.ts'
import type { EventListeners } from './events/event-listeners.ts'
import type { SessionReads } from './session-reads.ts'

const LOOK_EVERY_MS = 500

export async function untilSession(
  ref: SessionRef,
  isAsWished: (session: SessionRow) => boolean,
  { reads, listeners, signal }: { readonly reads: SessionReads; readonly listeners: EventListeners; readonly signal: AbortSignal },
): Promise<SessionRow> {
  let wake = Promise.withResolvers<void>()
  const stir = () => wake.resolve()
  const unlisten = listeners.listen(ref.id, stir)
  const timer = setInterval(stir, LOOK_EVERY_MS)
  signal.addEventListener('abort', stir, { once: true })
  try {
    for (;;) {
      // Before the look, so that a change during it is not slept through.
      wake = Promise.withResolvers()
      const session = await reads.hosted(ref)
      if (session === null) throw noSuchSession()
      if (isAsWished(session)) return session
      if (signal.aborted) throw new HoldfastError('request_cancelled', 'the caller left before the session was ready')
      await wake.promise
    }
  } finally {
    unlisten()
    clearInterval(timer)
    signal.removeEventListener('abort', stir)
  }
}

/** The promise's result, unless the caller leaves first; the work itself goes on for the others who wait for it. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(new HoldfastError('request_cancelled', 'the caller left before the session was ready'))
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([promise, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
