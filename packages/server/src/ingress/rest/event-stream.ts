/**
 * Server-sent events: an answer that goes on, ended by the server or by a reader who leaves.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A failure after the beginning is told in-band as `error`, so that a stream that just stops is never mistaken for a good end. A reader
 * who is slow is waited for, and costs no memory.
 */
import type { Visit } from './route.ts'

/** Proxies close a connection that stays silent for about a minute. */
const KEEP_ALIVE_MS = 15_000

export interface ServerSentEvent {
  /** Where a reader goes on who comes back: it sends this as `Last-Event-ID`. */
  readonly id?: string | number
  readonly event: string
  readonly data: object
}

export interface EventStream {
  readonly response: Response
  /** Fires when the reader has left. */
  readonly left: AbortSignal
  /** Resolves when the reader can take more. Writing to a reader who left is no error. */
  send(event: ServerSentEvent): Promise<void>
  /** The same for events that are encoded already, see `encodeEvent`. */
  sendEncoded(bytes: Uint8Array): Promise<void>
  end(): Promise<void>
}

const encoder = new TextEncoder()
const KEEP_ALIVE = encoder.encode(': still here\n\n')

export function encodeEvent({ id, event, data }: ServerSentEvent): Uint8Array {
  return encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}

export function openEventStream({ requestId, streamOpened }: Pick<Visit, 'requestId' | 'streamOpened'>): EventStream {
  // First: nothing is left over when it is refused.
  const streamClosed = streamOpened?.()
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const left = new AbortController()
  writer.closed.catch(() => left.abort())
  const write = (bytes: Uint8Array) => writer.write(bytes).catch(() => {})
  const keepAlive = setInterval(() => void write(KEEP_ALIVE), KEEP_ALIVE_MS)
  let isOver = false
  const finish = () => {
    clearInterval(keepAlive)
    if (!isOver) streamClosed?.()
    isOver = true
  }
  left.signal.addEventListener('abort', finish, { once: true })
  return {
    response: new Response(readable, { headers: headersOf(requestId) }),
    left: left.signal,
    send: (event) => write(encodeEvent(event)),
    sendEncoded: write,
    end() {
      finish()
      return writer.close().catch(() => {})
    },
  }
}

/** For what can go on for ever: whether its reader may still read is asked again from time to time. */
export function followedStream(visit: Visit, produce: (stream: EventStream, signal: AbortSignal) => Promise<void>): Response {
  const stream = openEventStream(visit)
  const revoked = new AbortController()
  const signal = AbortSignal.any([visit.signal, stream.left, revoked.signal])
  const recheck = setInterval(() => void visit.recheck().catch((error: unknown) => revoked.abort(error)), KEEP_ALIVE_MS)
  const run = async () => {
    try {
      await produce(stream, signal)
      revoked.signal.throwIfAborted()
    } catch (error) {
      await stream.send({ event: 'error', data: visit.problemOf(error) })
    } finally {
      clearInterval(recheck)
      await stream.end()
    }
  }
  void run()
  return stream.response
}

export function wantsEvents(visit: Pick<Visit, 'header'>): boolean {
  return visit.header('accept')?.includes('text/event-stream') === true
}

function headersOf(requestId: string): Record<string, string> {
  return {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': requestId,
  }
}
