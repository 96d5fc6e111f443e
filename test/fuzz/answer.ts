/**
 * Sending a request as it is, byte for byte, and reading what comes back: whole, or the beginning of what goes on for ever.
 */
import { Agent, request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import type { Header } from './attempt.ts'

/** An answer that takes longer is none. */
const PATIENCE_MS = 60_000
/** Of a stream of events, so much is looked at. */
const STREAM_MS = 80
const STREAM_BYTES = 1_000_000

const BYTES: ReadonlySet<string> = new Set(['application/octet-stream', 'application/x-tar'])

export interface Sent {
  readonly method: string
  readonly target: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array | null
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** The client left before the end, or the server did. */
  readonly isCut: boolean
}

export interface Sender {
  /** Rejects when there is no answer. */
  send(sent: Sent): Promise<Answer>
  /** `null`: the connection was closed without a word. */
  sendBytes(bytes: Uint8Array): Promise<Answer | null>
  close(): void
}

export function createSender(port: number): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  return {
    async send(wanted) {
      const { method, target, headers, body } = wanted
      const flat = headers.flatMap(([name, value]) => [name, value])
      const has = (name: string) => headers.some(([each]) => each === name)
      // Given as a list, headers are sent as they are, and none is added.
      const own = [
        ...(has('host') ? [] : ['host', `127.0.0.1:${port}`]),
        ...(body === null ? [] : ['content-length', String(body.length)]),
        'connection',
        'keep-alive',
      ]
      const sent = request({ ...{ host: '127.0.0.1', port, agent, method, path: target }, headers: [...own, ...flat] })
      const response = responseTo(sent)
      sent.end(body ?? undefined)
      try {
        return await readAnswer(await response)
      } catch (error) {
        // A connection that was kept may have been closed for its age just now: that says nothing about the request.
        if (sent.reusedSocket && isReset(error)) return this.send(wanted)
        throw error
      }
    },
    sendBytes: (bytes) => exchange(connect(port, '127.0.0.1'), bytes),
    close: () => agent.destroy(),
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}

function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const timer = setTimeout(() => sent.destroy(new Error(`no answer within ${PATIENCE_MS / 1000} s`)), PATIENCE_MS)
  sent.once('response', (response) => {
    clearTimeout(timer)
    resolve(response)
  })
  sent.once('upgrade', (response, socket) => {
    clearTimeout(timer)
    socket.destroy()
    resolve(response)
  })
  // A server that refuses a body may close before it has all of it; its answer is there all the same.
  sent.on('error', (error) => {
    clearTimeout(timer)
    reject(error)
  })
  return promise
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const type = response.headers['content-type'] ?? ''
  const isEndless = type.startsWith('text/event-stream')
  const isBytes = BYTES.has(type)
  const chunks: Buffer[] = []
  let size = 0
  let isCut = false
  const cut = () => {
    isCut = true
    response.destroy()
  }
  const timer = setTimeout(cut, isEndless ? STREAM_MS : PATIENCE_MS)
  try {
    for await (const chunk of response) {
      chunks.push(Buffer.from(chunk))
      size += chunk.length
      if (isEndless && size > STREAM_BYTES) cut()
    }
  } catch (error) {
    // Bytes that break off are how a failure after the beginning is told where there is no other way.
    if (!isCut && !isBytes) throw error
    isCut = true
  } finally {
    clearTimeout(timer)
  }
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))
  return { status: response.statusCode ?? 0, headers, bytes: Buffer.concat(chunks), isCut }
}

/** Everything that came until the server closed, or until it had said something and then nothing more. */
async function exchange(socket: Socket, bytes: Uint8Array): Promise<Answer | null> {
  socket.setTimeout(2_000, () => socket.destroy())
  socket.on('error', () => undefined)
  socket.write(bytes)
  socket.end()
  const said = await text(Readable.from(chunksOf(socket)).setEncoding('latin1'))
  const [head = '', ...rest] = said.split('\r\n\r\n')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]
  if (status === undefined) return null
  const headers = Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  return { status: Number(status), headers, bytes: Buffer.from(unchunked(rest.join('\r\n\r\n'), headers), 'latin1'), isCut: false }
}

async function* chunksOf(socket: Socket): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of socket) yield Buffer.from(chunk)
  } catch {
    // A connection that is cut has said what it has said.
  }
}

function unchunked(body: string, headers: Readonly<Record<string, string>>): string {
  if (headers['transfer-encoding'] !== 'chunked') return body.slice(0, Number(headers['content-length'] ?? body.length))
  const size = Number.parseInt(body, 16)
  if (!(size > 0)) return ''
  const begin = body.indexOf('\r\n') + 2
  return body.slice(begin, begin + size) + unchunked(body.slice(begin + size + 2), headers)
}
