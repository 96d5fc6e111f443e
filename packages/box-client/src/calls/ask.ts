/**
 * One action, asked with its time-out and read by its schema: an answer of another shape fails the call.
 */
import { BoxError, CALL_SECONDS, DEFAULT_CALL_SECONDS } from '@holdfast/protocol/box'
import type { BoxAction, BoxContext } from '@holdfast/protocol/box'
import type { z } from 'zod'
import { firstProblem } from '../checked.ts'
import type { Call } from './rpc.ts'

export interface AskOptions {
  /** Ends the waiting; the server goes on with what it was asked. */
  readonly signal?: AbortSignal
}

export interface LongAskOptions extends AskOptions {
  /** Where what is asked for can take longer than its kind is waited for. */
  readonly leastMs?: number
}

/** With a context for what belongs to a workspace, without one for what belongs to the host. */
export type Ask = <T>(action: BoxAction, answer: z.ZodType<T>, data: object, context?: BoxContext, options?: LongAskOptions) => Promise<T>

export function createAsk(call: Call): Ask {
  return async (action, answer, data, context, { leastMs = 0, ...options } = {}) => {
    const timeoutMs = Math.max((CALL_SECONDS[action] ?? DEFAULT_CALL_SECONDS) * 1000, leastMs)
    const raw = await call(action, data, { timeoutMs, ...(context === undefined ? {} : { context }), ...options })
    const parsed = answer.safeParse(raw)
    if (parsed.success) return parsed.data
    throw new BoxError('BoxError', `malformed answer to ${action}: ${firstProblem(parsed.error)}`, { action }, { cause: parsed.error })
  }
}
