/**
 * Calls over one connection: numbers them, finds the call an answer belongs to, and never leaves a caller waiting.
 *
 * Holds always: a call ends with its answer, its time-out, its signal or the connection, whichever is first. An answer that cannot
 * be understood fails its call at once; one that belongs to no call that can be named ends the connection, and with it all calls.
 */
import { BoxError, frameText, MAXIMUM_MESSAGE_BYTES, recoverError } from '@holdfast/protocol/box'
import type { BoxAction, BoxContext } from '@holdfast/protocol/box'
import type { BoxClock } from '../clock.ts'
import { reasonOf } from '../log.ts'
import type { BoxLog } from '../log.ts'
import type { BoxTransport } from '../transports/transport.ts'
import { readAnswer } from './answer.ts'
import type { Answer } from './answer.ts'

export interface CallOptions {
  readonly context?: BoxContext
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/** What an action answers, still to be read by its schema. */
export type Call = (action: BoxAction, data: object, options: CallOptions) => Promise<Readonly<Record<string, unknown>>>

export interface Rpc {
  readonly call: Call
  /** For every message of the transport. */
  receive(message: string): void
  /** How many answers came; a sign of life even when they were refusals. */
  heard(): number
  /** Fails what is under way and all that comes after. */
  end(reason: string): void
}

export interface RpcNeeds {
  readonly transport: Pick<BoxTransport, 'send'>
  readonly clock: BoxClock
  readonly log: BoxLog
  /** Calls are numbered from here. */
  readonly firstNumber: number
  /** The server does not speak the protocol: nothing can be told apart any more. */
  readonly onBroken: (reason: string) => void
}

interface Waiting {
  settle(answer: Answer): void
  fail(error: Error): void
}

export function createRpc({ transport, clock, log, firstNumber, onBroken }: RpcNeeds): Rpc {
  const waiting = new Map<number, Waiting>()
  let next = firstNumber
  let over: string | undefined
  let heard = 0

  const call: Call = async (action, data, { context, timeoutMs, signal }) => {
    signal?.throwIfAborted()
    if (over !== undefined) throw disconnected(over)
    const number = next++
    const message = frameText({ seq_id: number, action, data, ...(context === undefined ? {} : { context }) })
    if (Buffer.byteLength(message) > MAXIMUM_MESSAGE_BYTES) {
      throw new BoxError('BoxValidationError', `${action} needs a message above ${MAXIMUM_MESSAGE_BYTES} bytes`)
    }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    waiting.set(number, { settle: resolve, fail: reject })
    const cancel = clock.after(timeoutMs, () =>
      reject(new BoxError('BoxError', `${action} was not answered within ${timeoutMs / 1000} s`, { action, timeoutMs })),
    )
    const onAbort = () => reject(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    transport.send(message).catch((error: unknown) => reject(disconnected(reasonOf(error))))
    try {
      const answer = await promise
      if (answer.code !== 0) throw recoverError(answer.message)
      return answer.data
    } finally {
      waiting.delete(number)
      cancel()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  return {
    call,
    receive(message) {
      const reading = readAnswer(message)
      if (reading.kind === 'noise') return
      const found = reading.number === undefined ? undefined : waiting.get(reading.number)
      if (reading.kind === 'answer') {
        heard += 1
        return found?.settle(reading.answer)
      }
      log.warn('box: an answer could not be understood', { problem: reading.problem })
      if (found !== undefined) return found.fail(new BoxError('BoxError', `malformed answer of the Box server: ${reading.problem}`))
      if (reading.number === undefined && reading.isAnswer) onBroken(`malformed answer of the Box server: ${reading.problem}`)
    },
    heard: () => heard,
    end(reason) {
      over ??= reason
      for (const { fail } of waiting.values()) fail(disconnected(over))
    },
  }
}

function disconnected(reason: string): Error {
  return new BoxError('BoxRuntimeUnavailableError', `the connection to the Box server is lost: ${reason}`)
}
