/**
 * An answer that is a stream, written to its connection as it comes and at the reader's pace.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * When its source fails, the connection is cut, so that what came before is never taken for the whole; when the reader leaves, the source
 * is left.
 */
import type { OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'

/** A connection that waits for its answer. */
export interface Outgoing extends Writable {
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  flushHeaders?(): void
}

/** Everything but JSON, which is there as a whole. */
export function isStream(response: Response): boolean {
  // Its type first: to be asked for its body, an answer has to become what a browser would know.
  return (
    streams.has(response) ||
    (!wholes.has(response) && response.headers.get('content-type')?.includes('json') !== true && response.body !== null)
  )
}

const wholes = new WeakSet<Response>()
const streams = new WeakSet<Response>()

/** Says that this one is sent at the reader's pace, though it is JSON. */
export function asStream(response: Response): Response {
  streams.add(response)
  return response
}

/** Says that this one is there as a whole, so that nobody has to look. */
export function asWhole(response: Response): Response {
  wholes.add(response)
  return response
}

/** Does not wait for the end: nobody is left to be told of a failure, and the source tells of its own. */
export function sendStream({ status, headers, body }: Response, outgoing: Outgoing): void {
  outgoing.writeHead(status, Object.fromEntries(headers))
  outgoing.flushHeaders?.()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same class under two names
  const source = Readable.fromWeb(body as ReadableStream<Uint8Array>)
  // To a reader who left before the beginning nothing can be piped, and then nobody else would leave the source.
  pipeline(source, outgoing).catch(() => source.destroy())
}
