/**
 * A receiver of webhooks on the loopback: a real HTTP server that keeps what it was sent and answers as it is told.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { SessionEvent } from '@holdfast/protocol'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: SessionEvent
}

export interface Receiver {
  readonly port: number
  readonly received: readonly Received[]
  connections(): number
  /** Resolves once this many different events have come. */
  has(count: number): Promise<void>
  close(): Promise<void>
}

/** `answer` gets the number of the request, from 1. */
export async function openReceiver(answer: (response: ServerResponse, count: number) => void = accept): Promise<Receiver> {
  const received: Received[] = []
  let connections = 0
  let isNew = Promise.withResolvers<void>()
  const keep = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    received.push({ path: request.url ?? '', headers: request.headers, body, event: SessionEvent.parse(JSON.parse(body)) })
    isNew.resolve()
    isNew = Promise.withResolvers()
    answer(response, received.length)
  }
  const server = createServer((request, response) => {
    keep(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  server.on('connection', () => (connections += 1))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port')
  return {
    port: address.port,
    received,
    connections: () => connections,
    async has(count) {
      while (new Set(received.map(({ event }) => event.id)).size < count) await isNew.promise
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function accept(response: ServerResponse): void {
  response.writeHead(204).end()
}

/** As a receiver does it, after docs/events.md. */
export function isGenuine({ headers, body }: Received, secret: string, nowSeconds: number): boolean {
  const id = String(headers['webhook-id'])
  const timestamp = String(headers['webhook-timestamp'])
  if (Math.abs(nowSeconds - Number(timestamp)) > 300) return false
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  const signatures = String(headers['webhook-signature']).split(' ')
  return signatures.some((signature) => {
    const given = Buffer.from(signature.replace('v1,', ''), 'base64')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
