/**
 * What is no request of HTTP is refused as any request is: with a problem document and a request id.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { RequestError } from '@hono/node-server'
import { HoldfastError } from '@holdfast/protocol'
import { randomId } from '../home/random-id.ts'
import { problemDocument } from './rest/problems.ts'
import { refuseUpgrade } from './sockets/refusal.ts'

const TYPE = { 'content-type': 'application/problem+json' }

/** For what the parser of HTTP refuses. */
export function refuseMalformed(server: Server): void {
  /** What is being said on a connection; nothing else may be said in between. */
  const answers = new WeakMap<Duplex, ServerResponse>()
  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => answers.set(incoming.socket, outgoing))
  server.on('clientError', (error: Error & { readonly code?: string }, connection) => {
    const answer = answers.get(connection)
    const isFree = answer === undefined || answer.writableEnded || !answer.headersSent
    if (!connection.writable || !isFree || error.code === 'ECONNRESET') {
      connection.destroy()
      return
    }
    const requestId = randomId('req')
    const body = problemDocument(refusalOf(error.code), requestId)
    refuseUpgrade(connection, { status: body.status, body, headers: TYPE }, requestId)
  })
}

/** Names of headers stand at even places. With two Host headers, one of two readers of a request may believe the other one. */
export function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts <= 1
}

/** Answers 400 to a request with several Host headers, at every HTTP service. */
export function refuseHosts(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { text, headers } = hostsRefusal()
  outgoing.writeHead(400, { ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' })
  outgoing.end(text)
}

export function refuseHostsOfUpgrade(connection: Duplex): void {
  connection.on('error', () => connection.destroy())
  const { body, requestId } = hostsRefusal()
  refuseUpgrade(connection, { status: 400, body, headers: TYPE }, requestId)
}

function hostsRefusal() {
  const requestId = randomId('req')
  const body = problemDocument(new HoldfastError('invalid_request', 'Host: is given more than once; send one'), requestId)
  return { requestId, body, text: JSON.stringify(body), headers: { ...TYPE, 'cache-control': 'no-store', 'x-request-id': requestId } }
}

/** For what the parser takes, and what is no address all the same: `GET *`, or a host that is none. */
export function malformedReply(error: unknown): Response {
  const requestId = randomId('req')
  const isMalformed = error instanceof RequestError
  const body = problemDocument(
    isMalformed ? new HoldfastError('invalid_request', 'the address or the host of the request is none') : error,
    requestId,
  )
  return Response.json(body, { status: body.status, headers: { ...TYPE, 'cache-control': 'no-store', 'x-request-id': requestId } })
}

/** The parser's words are about octets, and would not help. */
function refusalOf(code: string | undefined): HoldfastError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HoldfastError('headers_too_large', 'the headers of the request are larger than 16 KiB')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HoldfastError('request_stalled', 'the headers of the request did not come in time')
  return new HoldfastError('invalid_request', 'the request is not valid HTTP', code === undefined ? {} : { parser: code })
}
