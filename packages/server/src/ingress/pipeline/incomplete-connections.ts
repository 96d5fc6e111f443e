/**
 * Bounds connections that carry no request: those that have not sent the complete header of their first one, and those that are idle after one.
 * Above the limit the oldest of its kind is closed, so idle connections do not push out new ones, nor new ones idle ones.
 *
 * Complete requests are not bounded: a proxy sends all of them from one address.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export function boundIncompleteConnections(server: Server, limit: number): void {
  const unused = new OldestClosed(limit)
  const idle = new OldestClosed(limit)
  const newest = new WeakMap<Socket, IncomingMessage>()
  const forget = (socket: Socket) => {
    unused.delete(socket)
    idle.delete(socket)
  }

  server.on('connection', (socket: Socket) => {
    socket.once('close', () => forget(socket))
    unused.add(socket)
  })
  const onRequest = (request: IncomingMessage, answer: ServerResponse) => {
    const { socket } = request
    newest.set(socket, request)
    forget(socket)
    const countAgain = () => {
      if (!socket.destroyed && newest.get(socket) === request) idle.add(socket)
    }
    // One that was answered early may still send its body, which is no header.
    answer.once('close', () => void (request.readableEnded ? countAgain() : request.once('end', countAgain)))
  }
  server.on('request', onRequest)
  server.on('checkExpectation', onRequest)
  server.on('upgrade', ({ socket }) => forget(socket))
}

/** At most so many sockets; one more closes the oldest. */
class OldestClosed extends Set<Socket> {
  readonly #limit: number
  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  override add(socket: Socket): this {
    super.add(socket)
    const [oldest] = this
    if (this.size > this.#limit && oldest !== undefined) {
      this.delete(oldest)
      oldest.destroy()
    }
    return this
  }
}
