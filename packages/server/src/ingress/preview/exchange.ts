/**
 * One request to an app inside, and its answer: streamed both ways, as fast as the slower end takes it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * An answer that breaks off is cut off for the client too, so that it is never taken for the whole. A client that leaves ends the
 * connection to the app.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import type { Duplex } from 'node:stream'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { requestOver } from '../../sessions/http-over-port.ts'
import type { InnerRequest } from '../../sessions/http-over-port.ts'
import type { HeaderFields } from './inward-headers.ts'

export type Outwards = (answer: IncomingMessage) => HeaderFields

/** Resolves with the status once the answer has begun. Until then what goes wrong is thrown; afterwards the client is cut off. */
export function exchange(
  request: IncomingMessage,
  answer: ServerResponse,
  connection: Duplex,
  wish: InnerRequest,
  outwards: Outwards,
): Promise<number> {
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  const inner = requestOver(connection, { ...wish, headers: framed(request, wish.headers) })
  const begun = answered(inner, connection, answer, outwards)
  request.on('error', () => connection.destroy())
  if (hasBody) request.pipe(inner)
  else inner.end()
  answer.once('close', () => {
    connection.destroy()
    // What is left of the request is nobody's, and would stand before the next one.
    request.unpipe(inner)
    request.resume()
  })
  return begun
}

/** A body whose length is not told is told in pieces, whatever the method; and never in both ways. */
function framed({ headers: sent }: IncomingMessage, headers: InnerRequest['headers']): InnerRequest['headers'] {
  if (sent['transfer-encoding'] === undefined) return headers
  const { 'content-length': _length, ...others } = headers
  return { ...others, 'transfer-encoding': 'chunked' }
}

/** The answer of an app, passed on. */
export function answered(inner: ClientRequest, connection: Duplex, answer: ServerResponse, outwards: Outwards): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let said: IncomingMessage | null = null
  inner.on('error', (error) => {
    connection.destroy()
    reject(noAnswer(error))
    // One whose end is the end of its connection would pass for whole; what follows a whole one is nobody's.
    if (said !== null && !said.complete) answer.destroy()
  })
  inner.on('close', () => reject(noAnswer()))
  inner.on('response', (response) => {
    try {
      if (answer.destroyed) throw new HoldfastError('request_cancelled', 'the caller left before the answer')
      answer.writeHead(response.statusCode ?? 0, outwards(response))
      answer.flushHeaders()
    } catch (error) {
      connection.destroy()
      reject(noAnswer(error))
      return
    }
    said = response
    resolve(answer.statusCode)
    pipeline(response, answer, () => connection.destroy())
  })
  return promise
}

/** In words of ours: what an app or the parser said is for no log. */
export function noAnswer(cause?: unknown): HoldfastError {
  if (isHoldfastError(cause) && cause.code !== 'connection_refused') return cause
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (code === 'HPE_HEADER_OVERFLOW') return new HoldfastError('preview_failed', 'the headers of the app’s answer are larger than 16 KiB')
  if (code.startsWith('HPE_') || code.startsWith('ERR_'))
    return new HoldfastError('preview_failed', 'what the app answered is not valid HTTP', { parser: code })
  return new HoldfastError('preview_failed', 'the app closed the connection before it answered')
}
