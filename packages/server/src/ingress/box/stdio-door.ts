/**
 * The Box protocol on a pair of pipes: one client, whose end of the input is its goodbye.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The lines of one message stay together. A reader that is slow holds up its own answers; a client that sends faster than its work gets
 * done is not read meanwhile. One that breaks the framing is cut off.
 */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { stdioLines, stdioReader } from '@holdfast/protocol/box'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import type { BoxPeer } from './credentials.ts'
import type { Connect } from './rpc-socket.ts'

export interface StdioNeeds {
  readonly connect: Connect
  readonly peer: BoxPeer
  readonly input: Readable
  readonly output: Writable
  /** Ends it from this side. */
  readonly closing: AbortSignal
  readonly log: Log
}

/** Resolves when the conversation is over; what it had under way is cancelled then. */
export async function serveStdio({ connect, peer, input, output, closing, log }: StdioNeeds): Promise<void> {
  const gone = new AbortController()
  const leave = () => gone.abort()
  output.on('error', leave)
  input.on('error', leave)
  closing.addEventListener('abort', leave)
  let sending = Promise.resolve()
  let pressure = Promise.withResolvers<void>()
  pressure.resolve()
  const connection = connect(peer, {
    send: async (text) => (sending = sending.then(async () => writeLines(output, text, gone.signal))),
    onPressure(isHigh) {
      if (isHigh) pressure = Promise.withResolvers()
      else pressure.resolve()
    },
  })
  const reader = stdioReader()
  gone.signal.addEventListener('abort', () => {
    pressure.resolve()
    input.destroy()
  })
  if (closing.aborted) leave()
  try {
    for await (const bytes of input) {
      for (const message of reader.push(bytesOf(bytes))) connection.receive(message)
      await pressure.promise
    }
  } catch (error) {
    // Decision: a client that cannot be understood, or is gone, is one that has left.
    if (!gone.signal.aborted) log.warn('box-stdio-broken', { problem: errorText(error) })
  }
  leave()
  closing.removeEventListener('abort', leave)
  await connection.close()
}

async function writeLines(output: Writable, text: string, gone: AbortSignal): Promise<void> {
  for (const line of stdioLines(text)) {
    if (gone.aborted) return
    // Decision: whoever does not take the rest has left; `gone` tells it to everybody.
    if (!output.write(line)) await once(output, 'drain', { signal: gone }).catch(() => undefined)
  }
}

function bytesOf(chunk: unknown): Uint8Array {
  return chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk))
}
