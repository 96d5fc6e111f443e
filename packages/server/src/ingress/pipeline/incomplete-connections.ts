/**
 * Bounds the connections that have not sent the complete header of a request: above the limit the oldest is closed.
 *
 * A connection counts from its start, and again from the end of each request and its answer. One that waits idle between two requests counts, but is not
 * closed here: Node closes it after its keep-alive timeout. Complete requests are not bounded: a proxy sends all of them from one address.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export function boundIncompleteConnections(server: Server, limit: number): void {
  /** Oldest first, with the bytes that were read when the connection began to count; -1 for a new one. */
  const incomplete = new Map<Socket, number>()
  const newest = new WeakMap<Socket, IncomingMessage>()

  function closeOldest(): void {
    for (const [socket, bytesBefore] of incomplete) {
      if (socket.bytesRead <= bytesBefore) continue
      incomplete.delete(socket)
      socket.destroy()
      return
    }
  }

  server.on('connection', (socket: Socket) => {
    socket.once('close', () => incomplete.delete(socket))
    incomplete.set(socket, -1)
    if (incomplete.size > limit) closeOldest()
  })
  const onRequest = (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request
    newest.set(socket, request)
    incomplete.delete(socket)
    const countAgain = () => {
      if (!socket.destroyed && newest.get(socket) === request) incomplete.set(socket, socket.bytesRead)
    }
    // One that was answered early may still send its body, which is no header.
    answer.once('close', () => void (request.readableEnded ? countAgain() : request.once('end', countAgain)))
  }
  server.on('request', onRequest)
  server.on('checkExpectation', onRequest)
  server.on('upgrade', ({ socket }) => incomplete.delete(socket))
}
