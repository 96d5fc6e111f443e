/**
 * A stream of events that goes on over broken connections: it comes back with the last place it has.
 *
 * A failure that says "later" and a connection that just ends are the same to it. Gives up when the server was not reached for
 * `reconnectMs`, or when it says that there is nothing to wait for. After a `more` the next part is asked for at once.
 */
import { isHoldfastError } from '../errors.ts'
import type { HoldfastError } from '../errors.ts'
import type { ServerEvent } from './event-source.ts'
import { pause, reasonOf } from './patience.ts'
import { errorOfEvent, retryAfterMsOf } from './problem.ts'
import { backoffMs } from './retrying.ts'
import { unreachable } from './transport.ts'
import type { ApiRequest, OpenAnswer, Transport } from './transport.ts'

export const RECONNECT_MS = 60_000

export interface Following {
  /** What to ask for, from the present place on. Asked anew for every connection. */
  request(): ApiRequest
  readonly signal: AbortSignal
  readonly reconnectMs?: number
  /** Called when a new connection stands after one was lost. */
  onReconnected?(): void
}

/** Never ends by itself: whoever reads it knows the last event and leaves. */
export async function* follow(transport: Transport, following: Following): AsyncGenerator<ServerEvent, never, void> {
  const { request, signal, reconnectMs = RECONNECT_MS, onReconnected } = following
  let attempt = 0
  let failingSince: number | null = null
  let wasOpen = false
  for (;;) {
    let answer: OpenAnswer | null = null
    let isWhole = false
    let failure: HoldfastError
    try {
      answer = await transport.open({ ...request(), signal, headers: { accept: 'text/event-stream' }, isOnce: true })
      failingSince = null
      if (wasOpen) onReconnected?.()
      wasOpen = true
      for await (const event of answer.events()) {
        attempt = 0
        if (event.event === 'error') throw errorOfEvent(event.data)
        if (event.event === 'more') {
          isWhole = true
          break
        }
        yield event
      }
      // Asking for what comes next says that everything before has arrived; a program may be waiting for that.
      if (isWhole) continue
      failure = unreachable(transport.url, new Error('the stream ended before its end'))
    } catch (error) {
      if (signal.aborted) throw reasonOf(signal)
      if (!isHoldfastError(error) || error.retry !== 'after-delay') throw error
      failure = error
    } finally {
      answer?.close()
    }
    failingSince ??= Date.now()
    if (Date.now() - failingSince > reconnectMs) throw failure
    attempt += 1
    await pause(retryAfterMsOf(failure) + backoffMs(attempt), signal)
  }
}
