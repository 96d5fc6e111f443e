/**
 * A Box server behind a WebSocket: one JSON text per message.
 */
import { BoxError, MAXIMUM_MESSAGE_BYTES } from '@holdfast/protocol/box'
import { WebSocket } from 'ws'
import type { OpenTransport } from './transport.ts'

const OPEN_TIMEOUT_MS = 10_000
/** For the closing handshake; a server that is silent is then cut off. */
const CLOSE_TIMEOUT_MS = 2000

export interface WebSocketAddress {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export function webSocketTransport({ url, headers }: WebSocketAddress): OpenTransport {
  return async (receive, signal) => {
    signal.throwIfAborted()
    const socket = new WebSocket(url, {
      ...{ headers, maxPayload: MAXIMUM_MESSAGE_BYTES, perMessageDeflate: false },
      ...{ handshakeTimeout: OPEN_TIMEOUT_MS, closeTimeout: CLOSE_TIMEOUT_MS, followRedirects: false },
    })
    const ended = endOf(socket)
    socket.on('message', (data) => receive(textOf(data)))
    await opened(socket, url, ended, signal)
    return { send: (message) => send(socket, message), ended, close: () => close(socket, ended) }
  }
}

function textOf(data: Buffer | ArrayBuffer | Buffer[]): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8')
  return data instanceof ArrayBuffer ? Buffer.from(data).toString('utf8') : data.toString('utf8')
}

function endOf(socket: WebSocket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let failure: string | undefined
  socket.on('error', (error) => (failure = error.message))
  socket.on('close', (code, reason) => resolve(failure ?? closeWords(code, reason.toString('utf8'))))
  return promise
}

function closeWords(code: number, reason: string): string {
  return reason === '' ? `the server closed the connection (code ${code})` : `the server closed the connection (code ${code}: ${reason})`
}

async function opened(socket: WebSocket, url: string, ended: Promise<string>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<'open' | 'aborted'>()
  const onAbort = () => resolve('aborted')
  socket.once('open', () => resolve('open'))
  signal.addEventListener('abort', onAbort, { once: true })
  const outcome = await Promise.race([promise, ended])
  signal.removeEventListener('abort', onAbort)
  if (outcome === 'open') return
  socket.terminate()
  await ended
  signal.throwIfAborted()
  throw new BoxError('BoxRuntimeUnavailableError', `cannot reach the Box server at ${url}: ${outcome}`)
}

async function send(socket: WebSocket, message: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.send(message, (error) => (error instanceof Error ? reject(error) : resolve()))
  await promise
}

async function close(socket: WebSocket, ended: Promise<string>): Promise<void> {
  socket.close()
  await ended
}
