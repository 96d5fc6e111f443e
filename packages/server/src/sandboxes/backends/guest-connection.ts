/**
 * The connection to a guest: a unix socket whose bytes are read without garbage.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Node gives every read a buffer of its own, and a program that prints a gigabyte would leave a gigabyte for the collector to
 * find. Here all guests share one buffer: libuv reads into it and calls back before it reads again, so what a `data`
 * listener sees is valid until it returns.
 */
import { connect, type Socket } from 'node:net'
import { connectUnix } from './unix-connect.ts'

const SHARED = Buffer.allocUnsafeSlow(262_144)

/** Rejects with the system's error. A link in the place of the socket is refused. */
export function connectGuest(path: string, signal?: AbortSignal): Promise<Socket> {
  return connectUnix(path, 'refuse', signal, connectReusing)
}

function connectReusing(path: string): Socket {
  /** What came before anybody listened: at most one read, for reading then stops until somebody does. */
  let unheard: Buffer | null = null
  const socket: Socket = connect({
    path,
    onread: {
      buffer: SHARED,
      callback(length): boolean {
        const bytes = SHARED.subarray(0, length)
        if (socket.listenerCount('data') > 0) return socket.emit('data', bytes)
        unheard = Buffer.from(bytes)
        return false
      },
    },
  })
  socket.on('newListener', (event: string | symbol) => {
    if (event !== 'data' || unheard === null) return
    const bytes = unheard
    unheard = null
    // The listener is added after this event, and reading goes on no sooner than the next turn of the loop.
    process.nextTick(() => socket.emit('data', bytes))
  })
  return socket
}
