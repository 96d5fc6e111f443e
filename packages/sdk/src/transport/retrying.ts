/**
 * Whether a failed call is made again, and when.
 *
 * Only what is safe twice is made twice: reading, and a POST that carries an Idempotency-Key, which the server does once. Waits grow
 * and are random, so that many clients of a server that comes back do not all come at once.
 */
import { isHoldfastError } from '../errors.ts'
import { retryAfterMsOf } from './problem.ts'

const BASE_MS = 100
const LONGEST_MS = 5000
export const TRIES = 5

/** These say "later" about what the caller asked for; whether to wait is for the caller to say. */
const CALLERS_DECISION = ['session_busy', 'quota_exceeded']

/** Full jitter. `attempt` counts from 1. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  return random() * Math.min(LONGEST_MS, BASE_MS * 2 ** (attempt - 1))
}

/** How long to wait before the next try; `null` when it would not help. */
export function retryDelayMs(error: unknown, attempt: number, random: () => number = Math.random): number | null {
  if (!isHoldfastError(error) || error.retry !== 'after-delay' || CALLERS_DECISION.includes(error.code)) return null
  const delayMs = retryAfterMsOf(error) + backoffMs(attempt, random)
  // The first of the two still runs on the server: it ends when it ends, and the call's own time bounds the waiting.
  if (error.code === 'request_in_progress') return delayMs
  return attempt < TRIES ? delayMs : null
}
