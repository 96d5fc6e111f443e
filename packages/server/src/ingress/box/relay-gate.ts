/**
 * What the relay asks of the door: who is there, by the headers of a handshake, and for how long that holds.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { BoxTenant } from './tenant.ts'

export interface RelayGate {
  /** Whom the headers name, checked with all that the door checks; `null`: answered with 401 (`refuseUnauthorized`). */
  tenantOf(request: IncomingMessage): BoxTenant | null
  /** Calls `listener` once when the workspace moves on to another generation: what the tenant holds is closed then. Gives how to stop it. */
  onStale(tenant: BoxTenant, listener: () => void): () => void
}

/** Sockets of one kind at the door. */
export interface BoxSockets {
  /** Whether a request for this path is theirs. */
  serves(path: string): boolean
  /** The connection is then theirs to answer and to end. */
  upgrade(request: IncomingMessage, connection: Duplex, head: Buffer): void
  /** Closes all of them with 1001. */
  close(): Promise<void>
}

const UNAUTHORIZED = 'Unauthorized'

/** Before the upgrade: 401 in plain text, and nothing about why. */
export function refuseUnauthorized(connection: Duplex): void {
  refusePlainly(connection, '401 Unauthorized', 'text/plain; charset=utf-8', UNAUTHORIZED)
}

/** Whatever the client does, its connection is over afterwards. */
export function refusePlainly(connection: Duplex, status: string, contentType: string, body: string): void {
  connection.once('finish', () => connection.destroy())
  const headers = [
    `content-type: ${contentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ]
  connection.end(`HTTP/1.1 ${status}\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
}
