/**
 * An outbox as the body of an answer that goes on.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { Visit } from '../../rest/route.ts'
import type { Outbox } from './outbox.ts'

export interface EventResponseNeeds {
  readonly outbox: Outbox
  readonly visit: Pick<Visit, 'requestId' | 'signal' | 'recheck' | 'streamOpened'>
  readonly keepAliveMs: number
  readonly headers?: Readonly<Record<string, string>>
  /** Somebody else reads from the outbox from now on. */
  readonly replaced?: AbortSignal
  /** Throws when the reader may not hear it any more, though its key is good. */
  readonly recheck?: (() => Promise<void>) | undefined
  /** Called once: the reader left, may not hear it any more, or all is said. */
  onEnd(): void
}

export function eventResponse({ outbox, visit, keepAliveMs, headers = {}, replaced, recheck, onEnd }: EventResponseNeeds): Response {
  // First: nothing is left over when it is refused.
  const streamClosed = visit.streamOpened?.()
  const left = new AbortController()
  const signal = AbortSignal.any([visit.signal, left.signal, ...(replaced === undefined ? [] : [replaced])])
  const breathing = setInterval(() => {
    outbox.breathe()
    visit
      .recheck()
      .then(recheck)
      .catch(() => left.abort())
  }, keepAliveMs)
  let isOver = false
  const finish = () => {
    if (isOver) return
    isOver = true
    clearInterval(breathing)
    streamClosed?.()
    onEnd()
  }
  signal.addEventListener('abort', finish, { once: true })
  if (signal.aborted) finish()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const taken = await outbox.take(signal)
        if (taken !== null) return taken.forEach((chunk) => controller.enqueue(chunk))
        finish()
        controller.close()
      },
      cancel: () => left.abort(),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': visit.requestId,
      ...headers,
    },
  })
}
