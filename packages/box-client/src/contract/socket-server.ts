/**
 * The scripted server behind a WebSocket on a free port of this machine.
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { createScript } from './script.ts'
import type { Script } from './script.ts'

export interface SocketServer {
  readonly script: Script
  readonly port: number
  /** Of each handshake. */
  readonly headers: readonly IncomingHttpHeaders[]
  readonly sockets: ReadonlySet<WebSocket>
  close(): Promise<void>
}

/** Without `isWelcome` everybody is let in; others get 401, as the reference has it. */
export async function startSocketServer(
  script = createScript(),
  isWelcome = (_headers: IncomingHttpHeaders) => true,
  port = 0,
): Promise<SocketServer> {
  const headers: IncomingHttpHeaders[] = []
  const http = createServer((_request, response) => response.writeHead(404).end())
  const server = new WebSocketServer({ noServer: true, maxPayload: 16 * 1024 * 1024 })
  http.on('upgrade', (request, socket, head) => {
    headers.push(request.headers)
    if (request.url !== '/rpc/ws' || !isWelcome(request.headers)) {
      return socket.end(
        'HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: close\r\n\r\nUnauthorized',
      )
    }
    server.handleUpgrade(request, socket, head, (client) => {
      client.on('message', (data: Buffer, isBinary) => {
        if (isBinary) return client.close(1000)
        void script.answer(data.toString('utf8')).then((text) => (text === null ? undefined : client.send(text)))
      })
    })
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  http.listen(port, '127.0.0.1', resolve)
  await promise
  return {
    ...{ script, headers, sockets: server.clients, port: (http.address() as AddressInfo).port },
    async close() {
      for (const client of server.clients) client.terminate()
      const closed = Promise.withResolvers<void>()
      http.close(() => closed.resolve())
      await closed.promise
    },
  }
}
