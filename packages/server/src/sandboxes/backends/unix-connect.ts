/**
 * A connection to a unix socket whose path may have any length.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * The kernel takes at most 107 bytes of path in an address. So the socket's file is opened first (as a mere place, which
 * has no such limit) and then addressed through `/proc/self/fd`. Opening it also settles what is being connected to: a
 * guest that replaced its socket by a link to a socket of the host is refused, with no moment between check and use.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { connect as connectSocket, type Socket } from 'node:net'

/** Linux's O_PATH; Node has no name for it. */
const O_PATH = 0o10000000

/** Resolves once connected; rejects with the system's error (`ENOENT`, `ECONNREFUSED`, `EACCES`, …). */
export async function connectUnix(
  path: string,
  links: 'follow' | 'refuse',
  signal?: AbortSignal,
  connect: (path: string) => Socket = connectSocket,
): Promise<Socket> {
  signal?.throwIfAborted()
  const place = await open(path, links === 'follow' ? O_PATH : O_PATH | constants.O_NOFOLLOW)
  let socket: Socket
  try {
    const status = await place.stat()
    if (!status.isSocket()) throw Object.assign(new Error(`${path} is not a socket`), { code: 'ENOTSOCK' })
    socket = await connected(connect(`/proc/self/fd/${place.fd}`), signal)
  } finally {
    await place.close()
  }
  if (socket.destroyed) throw Object.assign(new Error(`the connection to ${path} broke at once`), { code: 'ECONNRESET' })
  return socket
}

function connected(socket: Socket, signal: AbortSignal | undefined): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const onAbort = (): void => void socket.destroy(abortReason(signal))
  const onConnect = (): void => {
    socket.off('error', onError)
    // It may break before its taker listens; an error that nobody hears would end the whole server. The taker finds it closed.
    socket.on('error', () => undefined)
    signal?.removeEventListener('abort', onAbort)
    resolve(socket)
  }
  const onError = (error: Error): void => {
    socket.destroy()
    signal?.removeEventListener('abort', onAbort)
    reject(error)
  }
  socket.once('connect', onConnect)
  socket.once('error', onError)
  signal?.addEventListener('abort', onAbort, { once: true })
  return promise
}

function abortReason(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new Error('aborted')
}
