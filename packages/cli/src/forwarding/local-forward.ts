/**
 * A port of this machine that leads to a web app inside a session, through the server: HTTP and WebSockets.
 *
 * Requests go to the server under the host of a preview link, which is renewed before it ends. Only this machine reaches the port.
 */
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, OutgoingHttpHeaders, RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol/errors'

export interface Link {
  readonly url: string
  readonly expiresAt: string
}

export interface ForwardNeeds {
  readonly host: string
  readonly port: number
  /** Where the server is. */
  readonly serverUrl: string
  makeLink(): Promise<Link>
}

export interface LocalForward {
  readonly url: string
  close(): void
}

/** A link is made again so long before its end. */
const MARGIN_MS = 60_000

export async function openForward({ host, port, serverUrl, makeLink }: ForwardNeeds): Promise<LocalForward> {
  let making: Promise<Link> = makeLink()
  let endsAt = Date.parse((await making).expiresAt)

  function link(): Promise<Link> {
    if (Date.now() < endsAt - MARGIN_MS) return making
    making = makeLink()
    endsAt = Number.POSITIVE_INFINITY
    making.then(
      ({ expiresAt }) => (endsAt = Date.parse(expiresAt)),
      () => (endsAt = 0),
    )
    return making
  }

  async function ask(request: IncomingMessage) {
    const { protocol, hostname, port: at, host: named, origin } = new URL((await link()).url)
    // A name below localhost is this machine's in every browser, wherever the server is.
    const isElsewhere = hostname.endsWith('.localhost')
    const target = isElsewhere ? new URL(serverUrl) : { protocol, hostname, port: at }
    const headers: OutgoingHttpHeaders = { ...request.headers, host: named }
    // A page of the app comes from the port here; for the app it is its own.
    if (request.headers.origin === url) headers['origin'] = origin
    const options: RequestOptions = {
      ...{ hostname: target.hostname.replaceAll(/[[\]]/g, ''), port: target.port, path: request.url, method: request.method, headers },
    }
    return target.protocol === 'https:' ? httpsRequest(options) : httpRequest(options)
  }

  const server = createServer((request, response) => {
    const refuse = (error: unknown) => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502, { 'content-type': 'text/plain; charset=utf-8' }).end(`${reasonOf(error)}\n`)
    }
    ask(request).then((outgoing) => {
      outgoing.once('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        pipeline(answer, response, () => undefined)
      })
      outgoing.once('error', refuse)
      response.once('close', () => outgoing.destroy())
      request.pipe(outgoing)
    }, refuse)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined)
    ask(request).then(
      (outgoing) => {
        outgoing.once('upgrade', (answer, inner, first) => {
          socket.write(headOf(answer))
          socket.write(first)
          inner.write(head)
          pipeline(socket, inner, () => undefined)
          pipeline(inner, socket, () => undefined)
        })
        outgoing.once('response', (answer) => {
          socket.write(headOf(answer))
          pipeline(answer, socket, () => undefined)
        })
        outgoing.once('error', () => socket.destroy())
        socket.once('close', () => outgoing.destroy())
        outgoing.end()
      },
      () => socket.destroy(),
    )
  })
  server.listen(port, host)
  await once(server, 'listening').catch((cause: unknown) => {
    throw new HoldfastError('listen_failed', `cannot listen on ${host}:${port}: ${reasonOf(cause)}`, { host, port }, { cause })
  })
  const address = server.address()
  const url = `http://${host}:${typeof address === 'object' && address !== null ? address.port : port}`
  return {
    url,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : []))
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, '', ''].join('\r\n')
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
