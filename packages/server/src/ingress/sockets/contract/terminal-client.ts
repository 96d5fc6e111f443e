/**
 * A client of the terminal's socket, for tests: keeps everything that came, and waits for what a test expects.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { TERMINAL_PROTOCOL, TerminalMessage } from '@holdfast/protocol'
import type { TerminalOrder } from '@holdfast/protocol'
import { WebSocket } from 'ws'
import { newlyIncludes } from './newly-includes.ts'

export interface Dialling {
  readonly key?: string | null
  readonly protocols?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export type TerminalClient = Awaited<ReturnType<typeof openTerminal>>

export interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: Record<string, unknown>
}

/** `url` begins with `http`, as the server says it. */
function dial(url: string, { key = null, protocols = [TERMINAL_PROTOCOL], headers = {} }: Dialling): WebSocket {
  return new WebSocket(url.replace(/^http/, 'ws'), [...protocols], {
    perMessageDeflate: false,
    headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
  })
}

/** What a client is told that gets no socket. */
export async function refusalOf(url: string, dialling: Dialling = {}): Promise<Refusal> {
  const socket = dial(url, dialling)
  // That there is no socket is what is asked for.
  socket.on('error', () => undefined)
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]))
  return { status: response.statusCode ?? 0, headers, text, body: JSON.parse(text) as Record<string, unknown> }
}

export async function openTerminal(url: string, dialling: Dialling = {}) {
  let connection: Socket | null = null
  const socket = dial(url, dialling)
  socket.on('upgrade', (response) => void (connection = response.socket))
  const messages: TerminalMessage[] = []
  const pieces: Buffer[] = []
  let received = 0
  let news = Promise.withResolvers<void>()
  let closeCode: number | null = null
  const tell = () => {
    news.resolve()
    news = Promise.withResolvers()
  }
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) {
      pieces.push(data)
      received += data.length
    } else messages.push(TerminalMessage.parse(JSON.parse(data.toString())))
    tell()
  })
  socket.on('close', (code) => {
    closeCode = code
    tell()
  })
  await once(socket, 'open')
  // How it broke is told by its close.
  socket.on('error', () => undefined)

  async function until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      if (closeCode !== null) throw new Error(`closed with ${closeCode}, having printed ${JSON.stringify(printed())}`)
      await news.promise
    }
  }
  const bytes = () => Buffer.concat(pieces)
  const printed = () => bytes().toString('utf8')
  const find = <T extends TerminalMessage['type']>(type: T) =>
    messages.find((message): message is Extract<TerminalMessage, { type: T }> => message.type === type)

  return {
    socket,
    messages,
    bytes,
    printed,
    /** Of the one message of that type, which comes at the latest with the end. */
    message: <T extends TerminalMessage['type']>(type: T) => until(() => find(type)),
    /** Waits until that was printed. */
    reads: (wanted: RegExp | string) =>
      until(typeof wanted === 'string' ? newlyIncludes(pieces, wanted) : () => wanted.test(printed()) || undefined),
    until,
    type: (text: string | Uint8Array) => socket.send(Buffer.from(text)),
    order: (order: TerminalOrder) => socket.send(JSON.stringify(order)),
    closed: () => until(() => closeCode ?? undefined),
    /** What lies below the socket, to say what no library would. */
    connection(): Socket {
      if (connection === null) throw new Error('it is not open')
      return connection
    },
    /** Without a goodbye. */
    vanish: () => socket.terminate(),
    /** What to give as `after` to go on. */
    seq: () =>
      messages.reduce((sum, each) => sum + (each.type === 'started' ? each.seq : each.type === 'gap' ? each.skipped_bytes : 0), received),
  }
}
