/**
 * The socket in front of the doors: listen, and end without cutting answers off.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { createServer, IncomingMessage } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import type { Http2Bindings, HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { HoldfastError } from '@holdfast/protocol'
import { discardRest, rememberIncoming } from './direct-body.ts'
import { hasOneHost, malformedReply, refuseHosts, refuseHostsOfUpgrade, refuseMalformed } from './malformed-request.ts'
import { boundIncompleteConnections } from './pipeline/incomplete-connections.ts'
import { CONNECTION_LIMITS } from './pipeline/limits.ts'
import type { ConnectionLimits } from './pipeline/limits.ts'
import { isStream, sendStream } from './send-stream.ts'

type Bindings = HttpBindings | Http2Bindings

/** How long connections may take to carry their last answer away before they are cut. */
const FLUSH_MS = 500
const IDLE_CHECK_MS = 10
/** Longer than clients and proxies keep idle connections (usually up to 60 s): one that is closed while a client reuses it costs the client a request. */
const KEEP_ALIVE_MS = 75_000

export interface HttpListener {
  readonly host: string
  readonly port: number
  /** Takes no new connections, and cuts what is left of the others. */
  close(): Promise<void>
}

/** `peer`: the address at the other end of the connection. */
export type Fetch = (request: Request, peer: string | undefined) => Response | Promise<Response>

/** The connection is then the callee's to answer and to end, also when the listener closes. */
export type Upgrade = (request: IncomingMessage, connection: Duplex, head: Buffer) => void

/** Answers on the connection itself, or says that it will not: for what needs none of the web's objects. It throws nothing. */
export type Direct = (request: IncomingMessage, answer: ServerResponse) => boolean

export async function listen(
  fetch: Fetch,
  upgrade: Upgrade,
  host: string,
  port: number,
  direct?: Direct,
  { headerTimeoutMs, incomplete, discardMs }: ConnectionLimits = CONNECTION_LIMITS,
): Promise<HttpListener> {
  const answer = async (request: Request, { incoming, outgoing }: Bindings) => {
    if (incoming instanceof IncomingMessage) rememberIncoming(request, incoming)
    const response = await fetch(request, incoming.socket.remoteAddress)
    if (!isStream(response)) return response
    sendStream(response, outgoing)
    return RESPONSE_ALREADY_SENT
  }
  const handle = getRequestListener(answer, { overrideGlobalObjects: true, errorHandler: malformedReply, autoCleanupIncoming: false })
  const receive = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    outgoing.once('prefinish', () => discardRest(incoming, discardMs))
    if (!hasOneHost(incoming)) return refuseHosts(incoming, outgoing)
    if (direct?.(incoming, outgoing) !== true) void handle(incoming, outgoing)
  }
  // A body may take long: the code that reads it has its own timeout. `headersTimeout` is set explicitly, because its default is the smaller
  // of itself and `requestTimeout`. A request without a Host header gets a problem document, so the parser does not refuse it.
  const timeouts = {
    ...{ requestTimeout: 0, headersTimeout: headerTimeoutMs, connectionsCheckingInterval: Math.ceil(headerTimeoutMs / 2) },
    keepAliveTimeout: KEEP_ALIVE_MS,
  }
  const server = createServer({ ...timeouts, requireHostHeader: false, shouldUpgradeCallback: asksForSocket }, receive)
  boundIncompleteConnections(server, incomplete)
  // What a client expects beyond an answer is not kept from getting one.
  server.on('checkExpectation', receive)
  server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    if (hasOneHost(request)) upgrade(request, connection, head)
    else refuseHostsOfUpgrade(connection)
  })
  refuseMalformed(server)
  const listening = Promise.withResolvers<void>()
  server.once('error', listening.reject)
  server.listen(port, host, listening.resolve)
  try {
    await listening.promise
  } catch (cause) {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
    const reason = isTaken ? 'something else listens there' : cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('listen_failed', `cannot listen on ${host}:${port}: ${reason}`, { host, port }, { cause })
  }
  const closed = Promise.withResolvers<void>()
  server.once('close', closed.resolve)
  return {
    host,
    port: boundPort(server.address()),
    async close() {
      server.close()
      server.closeIdleConnections()
      // What was just answered is still on its way out.
      const patience = setTimeout(() => server.closeAllConnections(), FLUSH_MS)
      const letGo = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
      await closed.promise
      clearInterval(letGo)
      clearTimeout(patience)
    },
  }
}

/** Any other upgrade may be left undone, and its request is one like all others. */
function asksForSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

function boundPort(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0
}
