/**
 * HTTP to a container engine: one request, one bounded answer.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Knows sockets, sizes and connection failures; knows no endpoint. Any HTTP status is an answer; only a missing answer throws.
 */
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol'
import { formatEngineAddress, type EngineAddress } from './engine-address.ts'
import { connectUnix } from '../unix-connect.ts'

export interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Called for each line of a streamed answer, which is then not collected. */
  readonly onLine?: (line: string) => void
}

export interface EngineResponse {
  readonly status: number
  readonly text: string
}

export interface EngineTransport {
  send(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse>
  close(): void
}

/** A list of a few thousand containers; anything longer is not an answer we asked for. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const MAX_LINE_BYTES = 64 * 1024

/** How a write to, or a read from, a connection fails whose other end is gone. */
const STALE = new Set(['ECONNRESET', 'EPIPE'])
const MAX_STALE_CONNECTIONS = 16

export function engineTransport(engine: string, address: EngineAddress): EngineTransport {
  const agent = address.kind === 'unix' ? new UnixAgent(address.path) : new Agent({ keepAlive: true })

  async function sendOnce(wish: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    signal.throwIfAborted()
    const payload = wish.body === undefined ? undefined : Buffer.from(JSON.stringify(wish.body))
    const query = wish.query === undefined ? '' : `?${new URLSearchParams(wish.query).toString()}`
    const outgoing = request({
      agent,
      signal,
      method: wish.method,
      path: wish.path + query,
      host: address.kind === 'tcp' ? address.host : 'engine',
      ...(address.kind === 'tcp' ? { port: address.port } : {}),
      headers: payload === undefined ? {} : { 'content-type': 'application/json', 'content-length': payload.length },
    })
    const answer = answerTo(outgoing, wish)
    outgoing.end(payload)
    return answer
  }

  return {
    async send(wish, signal) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await sendOnce(wish, signal)
        } catch (error) {
          if (signal.aborted) throw isTimeout(signal) ? late(engine, wish, signal.reason) : signal.reason
          if (error instanceof HoldfastError) throw error
          // A kept connection that the engine closed while it was idle: the request was never read, so it is sent again, and
          // each such connection is gone from the agent with its failure.
          if (attempt <= MAX_STALE_CONNECTIONS && isReused(error) && STALE.has(errorCode(error))) continue
          throw unreachable(engine, address, error)
        }
      }
    },
    close: () => agent.destroy(),
  }
}

class UnixAgent extends Agent {
  readonly #path: string

  constructor(path: string) {
    super({ keepAlive: true })
    this.#path = path
  }

  override createConnection(_options: unknown, callback?: (error: Error | null, stream: Duplex) => void): undefined {
    connectUnix(this.#path, 'follow').then(
      (socket) => callback?.(null, socket),
      // Node's types want a stream even where there is none to give.
      (error: Error) => Reflect.apply(callback ?? (() => undefined), undefined, [error]),
    )
  }
}

function answerTo(outgoing: ClientRequest, wish: EngineRequest): Promise<EngineResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<EngineResponse>()
  outgoing.once('error', (error) => reject(Object.assign(error, { reusedSocket: outgoing.reusedSocket })))
  outgoing.once('response', (incoming) => void collect(incoming, wish).then(resolve, reject))
  return promise
}

async function collect(incoming: IncomingMessage, wish: EngineRequest): Promise<EngineResponse> {
  const status = incoming.statusCode ?? 0
  const isStreamed = wish.onLine !== undefined && status < 300
  let text = ''
  let bytes = 0
  incoming.setEncoding('utf8')
  for await (const chunk of incoming) {
    text += String(chunk)
    bytes += Buffer.byteLength(String(chunk))
    if (isStreamed) text = handOnLines(text, wish.onLine)
    const limitBytes = isStreamed ? MAX_LINE_BYTES : MAX_ANSWER_BYTES
    if ((isStreamed ? text.length : bytes) > limitBytes) {
      throw new HoldfastError('backend_unavailable', `the engine's answer to ${wish.method} ${wish.path} is above ${limitBytes} bytes`)
    }
  }
  if (isStreamed && text !== '') wish.onLine?.(text)
  return { status, text: isStreamed ? '' : text }
}

/** Gives every complete line away and returns the incomplete rest. */
function handOnLines(text: string, onLine: ((line: string) => void) | undefined): string {
  const lines = text.split('\n')
  const rest = lines.pop() ?? ''
  for (const line of lines) if (line.trim() !== '') onLine?.(line)
  return rest
}

function unreachable(engine: string, address: EngineAddress, error: unknown): HoldfastError {
  const errno = errorCode(error)
  const where = formatEngineAddress(address)
  return new HoldfastError(
    'backend_unavailable',
    `${engine} does not answer at ${where} (${errno})`,
    { engine, address: where, errno },
    { cause: error },
  )
}

function isTimeout(signal: AbortSignal): boolean {
  return signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
}

function late(engine: string, wish: EngineRequest, cause: unknown): HoldfastError {
  return new HoldfastError('backend_unavailable', `${engine} did not answer ${wish.method} ${wish.path} in time`, { engine }, { cause })
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}

function isReused(error: unknown): boolean {
  return error instanceof Error && 'reusedSocket' in error && error.reusedSocket === true
}
