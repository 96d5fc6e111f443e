/**
 * The sockets that are open: asked whether somebody is there and still may be, and closed when the server stops.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import type { WebSocket } from 'ws'
import type { RequestObserver } from '../../telemetry/observations.ts'
import { startHeartbeat } from './heartbeat.ts'
import type { Conversation } from './socket-row.ts'
import { dismiss } from './dismiss.ts'

/** What ends a socket when its right to be there is asked for again. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'forbidden', 'not_found'])

export interface OpenSockets {
  readonly isClosing: boolean
  /** `recheck` throws when whoever is there may not stay. */
  attend(socket: WebSocket, conversation: Conversation, recheck: () => Promise<void>): void
  /** Resolves when every one of them is closed. */
  close(): Promise<void>
}

export interface OpenSocketsNeeds extends Pick<RequestObserver, 'streamOpened'> {
  readonly pingEveryMs: number
  readonly recheckEveryMs: number
}

export function createOpenSockets({ pingEveryMs, recheckEveryMs, streamOpened }: OpenSocketsNeeds): OpenSockets {
  const open = new Set<WebSocket>()
  let isClosing = false

  return {
    get isClosing() {
      return isClosing
    },
    attend(socket, conversation, recheck) {
      open.add(socket)
      const streamClosed = streamOpened()
      const rechecking = setInterval(() => {
        recheck().catch((error: unknown) => {
          // Decision: what keeps us from asking is no refusal; the next time may go better.
          if (isHoldfastError(error) && REFUSALS.has(error.code)) conversation.dismiss(error)
        })
      }, recheckEveryMs)
      rechecking.unref()
      socket.on('close', () => {
        clearInterval(rechecking)
        open.delete(socket)
        streamClosed()
      })
      // The library closes a socket that breaks the protocol; the end of it is told by `close`.
      socket.on('error', () => undefined)
      conversation.begin(socket, startHeartbeat(socket, pingEveryMs))
      if (isClosing) void dismiss(socket)
    },
    async close() {
      isClosing = true
      await Promise.all([...open].map(dismiss))
    },
  }
}
