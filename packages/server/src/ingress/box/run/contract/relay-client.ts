/** A relay's client: every message as it came, awaited by what it says. */
import { once } from 'node:events'
import { WebSocket } from 'ws'

export interface RelayClient {
  readonly socket: WebSocket
  /** Every text message, in order. */
  readonly messages: string[]
  readonly closed: Promise<number>
  send(text: string): void
  /** Resolves with the first message that this is true of. */
  until(isIt: (message: string) => boolean): Promise<string>
  reads(line: string): Promise<string>
  leave(): Promise<void>
}

export async function openRelay(url: string, headers: Readonly<Record<string, string>>): Promise<RelayClient> {
  const socket = new WebSocket(url.replace('http', 'ws'), ['mcp'], { headers, maxPayload: 1_048_576 })
  const messages: string[] = []
  const waiting = new Set<() => void>()
  const closed = Promise.withResolvers<number>()
  const stir = () => {
    for (const wake of waiting) wake()
  }
  socket.on('close', (code) => {
    closed.resolve(code)
    stir()
  })
  socket.on('message', (data: Buffer, isBinary) => {
    messages.push(isBinary ? '(binary)' : data.toString())
    stir()
  })
  await once(socket, 'open')
  socket.on('error', () => undefined)
  const until = (isIt: (message: string) => boolean) =>
    new Promise<string>((resolve, reject) => {
      let looked = 0
      const look = () => {
        const found = messages.slice(looked).find(isIt)
        looked = messages.length
        if (found === undefined && socket.readyState !== socket.CLOSED) return
        waiting.delete(look)
        if (found === undefined) reject(new Error(`the relay closed after ${JSON.stringify(messages.slice(-3)).slice(0, 500)}`))
        else resolve(found)
      }
      waiting.add(look)
      look()
    })
  return {
    socket,
    messages,
    closed: closed.promise,
    send: (text) => socket.send(text),
    until,
    reads: (line) => until((message) => message === line),
    async leave() {
      socket.close()
      await closed.promise
    },
  }
}
