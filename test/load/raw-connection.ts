/**
 * Requests written to a connection by hand, so that it can be left at any moment.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { ServerProcess } from '../../bench/server-process.ts'

/** Whatever the server does to it, it is the server that is watched. */
export function quiet(socket: Socket): Socket {
  return socket.on('error', () => undefined)
}

async function opened({ port }: ServerProcess): Promise<Socket> {
  const socket = quiet(connect(port, '127.0.0.1'))
  await once(socket, 'connect')
  return socket
}

/** The whole request is sent; nothing of the answer is read. */
export async function asking(
  server: ServerProcess,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<Socket> {
  const socket = await opened(server)
  const content = body === undefined ? '' : JSON.stringify(body)
  const all = { host: '127.0.0.1', authorization: `Bearer ${server.key}`, 'content-length': Buffer.byteLength(content), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content}`)
  return socket
}

/** The headers are sent; the body is the caller's. */
export async function uploading(server: ServerProcess, path: string, bytes: number): Promise<Socket> {
  const socket = await opened(server)
  socket.write(`PUT ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.key}\r\ncontent-length: ${bytes}\r\n\r\n`)
  return socket
}
