/**
 * A client of a process's socket, for tests: keeps everything that came, counts its place, and waits for what a test expects.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { once } from 'node:events'
import { AttachMessage, PROCESS_PROTOCOL } from '@holdfast/protocol'
import type { AttachOrder } from '@holdfast/protocol'
import { WebSocket } from 'ws'
import { newlyIncludes } from './newly-includes.ts'

export type ProcessClient = Awaited<ReturnType<typeof openProcess>>

/** `url` begins with `http`, as the server says it. */
export async function openProcess(url: string, key: string) {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), [PROCESS_PROTOCOL], {
    perMessageDeflate: false,
    headers: { authorization: `Bearer ${key}` },
  })
  const messages: AttachMessage[] = []
  const frames: Buffer[] = []
  let place = 0
  let next: number | null = null
  let closeCode: number | null = null
  let news = Promise.withResolvers<void>()
  const tell = () => {
    news.resolve()
    news = Promise.withResolvers()
  }

  function hear(message: AttachMessage): void {
    messages.push(message)
    if (message.type === 'started') place = message.seq
    else if (message.type === 'place') next = message.seq
    else if (message.type === 'gap') place += message.skipped_bytes
  }
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) {
      frames.push(data)
      place = next ?? place + data.length
      next = null
    } else hear(AttachMessage.parse(JSON.parse(data.toString())))
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
      if (closeCode !== null) throw new Error(`closed with ${closeCode}, after ${JSON.stringify(messages.slice(-3))}`)
      await news.promise
    }
  }
  const find = <T extends AttachMessage['type']>(type: T) =>
    messages.find((message): message is Extract<AttachMessage, { type: T }> => message.type === type)
  const bytes = () => Buffer.concat(frames)

  return {
    ...{ socket, messages, frames, until, bytes },
    /** What to give as `after` to go on. */
    place: () => place,
    message: <T extends AttachMessage['type']>(type: T) => until(() => find(type)),
    /** Waits until that was printed. */
    reads: (wanted: string) => until(newlyIncludes(frames, wanted)),
    write: (data: string | Uint8Array) => socket.send(Buffer.from(data)),
    order: (order: AttachOrder) => socket.send(JSON.stringify(order)),
    closed: () => until(() => closeCode ?? undefined),
    /** Without a goodbye. */
    vanish: () => socket.terminate(),
  }
}
