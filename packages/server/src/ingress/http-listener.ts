/**
 * The socket in front of the doors: listen, and end without cutting answers off.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { HoldfastError } from '@holdfast/protocol'

export interface HttpListener {
  readonly host: string
  readonly port: number
  /** Takes no new connections from now on; requests under way go on. */
  stopAccepting(): void
  /** Cuts what is left. */
  close(): Promise<void>
}

export async function listen(fetch: (request: Request) => Response | Promise<Response>, host: string, port: number): Promise<HttpListener> {
  const handle = getRequestListener((request) => fetch(request), { overrideGlobalObjects: false })
  const server = createServer((incoming, outgoing) => void handle(incoming, outgoing))
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
    stopAccepting() {
      server.close()
      server.closeIdleConnections()
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await closed.promise
    },
  }
}

function boundPort(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0
}
