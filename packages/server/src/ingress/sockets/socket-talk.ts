/**
 * One conversation over an open socket: what is sent in bounded pieces, how it fails, and how it ends.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Nobody is told twice, and one who has left is not told at all.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ProblemDocument } from '@holdfast/protocol'
import type { RawData, WebSocket } from 'ws'
import type { z } from 'zod'
import { parseBody } from '../rest/parse.ts'
import { CLOSE_FAILED } from './close-codes.ts'
import type { Knock } from './socket-row.ts'

/** A message costs memory beyond its bytes. */
const MESSAGE_BYTES = 512

export interface SocketTalk<Message> {
  /** Fires when everything was said, or nobody is there any more. */
  readonly signal: AbortSignal
  /** Resolves when more may be sent; what cannot be sent finds nobody there, and the end of the socket follows by itself. */
  send(data: string | Uint8Array): Promise<void>
  say(message: Message): Promise<void>
  close(code: number): void
  /** The socket is closed: nobody is there any more. */
  end(): void
  /** Says why, and closes. */
  fail(reason: unknown, code: number): void
  /** For what is asked of a program: that it is over is told by its exit. */
  unlessOver(reason: unknown): void
}

export interface SocketTalkNeeds {
  readonly socket: WebSocket
  readonly seen: () => void
  readonly problemOf: Knock['problemOf']
  /** May be on their way at once; otherwise one piece is. */
  readonly windowBytes?: number
}

export function socketTalk<Message extends { readonly type: string }>(
  needs: SocketTalkNeeds,
): SocketTalk<Message | { readonly type: 'error'; readonly problem: ProblemDocument }> {
  const { socket, seen, problemOf, windowBytes = 0 } = needs
  const over = new AbortController()
  const { signal } = over
  let sendingBytes = 0
  let room: PromiseWithResolvers<void> | null = null

  function send(data: string | Uint8Array): Promise<void> {
    const bytes = Buffer.byteLength(data) + MESSAGE_BYTES
    sendingBytes += bytes
    socket.send(data, (error) => {
      sendingBytes -= bytes
      if (error) over.abort()
      else seen()
      if (sendingBytes > windowBytes) return
      room?.resolve()
      room = null
    })
    if (sendingBytes <= windowBytes) return Promise.resolve()
    room ??= Promise.withResolvers()
    return room.promise
  }
  const say = (message: object) => send(JSON.stringify(message))

  function close(code: number): void {
    over.abort()
    socket.close(code)
  }

  function fail(reason: unknown, code: number): void {
    if (signal.aborted) return
    void say({ type: 'error', problem: problemOf(reason) })
    close(code)
  }

  return {
    ...{ signal, send, say, close, fail },
    end: () => over.abort(),
    unlessOver(reason) {
      if (!isHoldfastError(reason, 'execution_ended')) fail(reason, CLOSE_FAILED)
    },
  }
}

/** More than any order needs, and quickly parsed whatever it is. */
const MAXIMUM_ORDER_CHARACTERS = 4_096

/** What a client wants of the program. Throws `invalid_request`. */
export function parseOrder<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  if (text.length > MAXIMUM_ORDER_CHARACTERS)
    throw new HoldfastError('invalid_request', `the message has ${text.length} characters: at most ${MAXIMUM_ORDER_CHARACTERS}`)
  return parseBody(schema, text)
}

export function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}
