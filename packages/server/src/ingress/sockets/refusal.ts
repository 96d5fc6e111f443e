/**
 * A refused upgrade, answered on its connection as any HTTP request is.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Reply } from '../rest/route.ts'

/** Whatever the client does, its connection is over afterwards. */
export function refuseUpgrade(connection: Duplex, { status, body, headers = {} }: Reply, requestId: string): void {
  const text = JSON.stringify(body)
  const all = {
    ...{ 'cache-control': 'no-store', ...headers, 'x-request-id': requestId },
    ...{ 'content-length': `${Buffer.byteLength(text)}`, connection: 'close' },
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  connection.once('finish', () => connection.destroy())
  connection.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\n${lines.join('')}\r\n${text}`)
}
