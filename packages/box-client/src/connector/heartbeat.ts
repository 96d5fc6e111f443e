/**
 * Whether the server still answers: asked every 20 seconds, and given up after three questions in a row without an answer.
 *
 * A refusal is an answer: a server that is too busy to take the question is alive.
 */
import { pause } from '../clock.ts'
import type { BoxClock } from '../clock.ts'

export const HEARTBEAT_MS = 20_000
export const FAILURES_UNTIL_LOST = 3

export interface HeartbeatNeeds {
  readonly clock: BoxClock
  /** Whether an answer came. */
  readonly ask: () => Promise<boolean>
  readonly onAnswer: () => void
}

/** Settles when the server is given up, or when the signal fires. */
export async function keepAsking({ clock, ask, onAnswer }: HeartbeatNeeds, signal: AbortSignal): Promise<void> {
  let failures = 0
  while (failures < FAILURES_UNTIL_LOST) {
    await pause(clock, HEARTBEAT_MS, signal)
    if (signal.aborted) return
    const isAnswered = await ask()
    failures = isAnswered ? 0 : failures + 1
    if (isAnswered && !signal.aborted) onAnswer()
  }
}
