/**
 * What a program reads from its standard input, and what is written into files: text, bytes, blobs, streams.
 */
import type { SentBody } from './transport/transport.ts'

export type Content = string | Uint8Array | Blob | ReadableStream<Uint8Array>

/** As one stream of bytes, whatever it was. */
export function streamOf(content: Content): ReadableStream<Uint8Array> {
  if (content instanceof ReadableStream) return content
  return (content instanceof Blob ? content : new Blob([typeof content === 'string' ? content : owned(content)])).stream()
}

/** What `fetch` takes. */
export async function bodyOf(content: Content): Promise<SentBody> {
  if (content instanceof ReadableStream) return canSendStreams() ? content : await new Response(content).blob()
  return content instanceof Uint8Array ? owned(content) : content
}

/** A `Blob` and a request take no view of memory that others can change meanwhile. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : Uint8Array.from(bytes)
}

/** Browsers send a stream over HTTP/2 only, or not at all; there it becomes a blob first, which they keep on disk. */
function canSendStreams(): boolean {
  return !('document' in globalThis || 'importScripts' in globalThis)
}
