/** A Box client that only speaks: over a WebSocket, with the headers it is given, and every frame as it came. */
import { once } from 'node:events'
import { request } from 'node:http'
import { text as readAll } from 'node:stream/consumers'
import { WebSocket } from 'ws'

export type Frame = Readonly<Record<string, unknown>>

export interface BoxTestClient {
  readonly socket: WebSocket
  /** Every frame that came. */
  readonly heard: readonly string[]
  /** Sends as it is. */
  say(text: string): void
  /** Sends a request and resolves with its answer, as text. */
  askText(seqId: number | string, frame: object): Promise<string>
  ask(action: string, data?: object, context?: object): Promise<Frame>
  readonly closed: Promise<number>
  leave(): Promise<void>
}

export async function dialBox(url: string, headers: Readonly<Record<string, string>> = {}): Promise<BoxTestClient> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/rpc/ws`, { headers, perMessageDeflate: true })
  const waiting = new Map<string, (text: string) => void>()
  let sequence = 68_030
  const heard: string[] = []
  const closed = Promise.withResolvers<number>()
  socket.on('close', (code) => closed.resolve(code))
  socket.on('error', () => undefined)
  socket.on('message', (data: Buffer) => {
    const text = data.toString()
    heard.push(text)
    const { seq_id: id } = JSON.parse(text) as { seq_id: unknown }
    waiting.get(JSON.stringify(id))?.(text)
  })
  await once(socket, 'open')
  const client: BoxTestClient = {
    socket,
    heard,
    say: (text) => socket.send(text),
    async askText(seqId, frame) {
      const { promise, resolve } = Promise.withResolvers<string>()
      waiting.set(JSON.stringify(seqId), resolve)
      socket.send(JSON.stringify(frame))
      return promise
    },
    async ask(action, data = {}, context) {
      const seqId = (sequence += 1)
      return JSON.parse(
        await client.askText(seqId, { seq_id: seqId, action, data, ...(context === undefined ? {} : { context }) }),
      ) as Frame
    },
    closed: closed.promise,
    async leave() {
      socket.terminate()
      await closed.promise
    },
  }
  return client
}

/** What the upgrade was refused with. */
export async function boxRefusal(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  path = '/rpc/ws',
): Promise<{ status: number; type: string; body: string }> {
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const sent = request(`${url}${path}`, { headers: { ...upgrade, ...headers } })
  sent.end()
  const answered = Promise.withResolvers<{ status: number; type: string; body: string }>()
  sent.on('error', answered.reject)
  sent.on('upgrade', (_response, connection) => {
    connection.destroy()
    answered.resolve({ status: 101, type: '', body: '' })
  })
  sent.on('response', (response) => {
    readAll(response).then(
      (body) => answered.resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body }),
      answered.reject,
    )
  })
  return answered.promise
}
