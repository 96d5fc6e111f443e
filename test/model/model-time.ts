/**
 * The time of a sequence: it stands still until an action moves it.
 *
 * The server's clock is a need and is given. Its two timers that act on sessions by themselves are not: while a sequence runs, the
 * sweep does not wake up between two actions (the sequence calls it), and a clean-up that failed is tried again soon.
 */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const START = Date.UTC(2026, 0, 1)
const RETRY_MS = 10

export interface ModelTime {
  readonly clock: () => number
  readonly now: number
  advance(ms: number): void
}

export function modelTime(): ModelTime {
  let now = START
  return {
    clock: () => now,
    get now() {
      return now
    },
    advance(ms) {
      now += ms
    },
  }
}

/** Gives back the way to restore the timers. */
export function quietTimers(): () => void {
  const real = globalThis.setTimeout
  const quiet = (callback: (...given: unknown[]) => void, ms?: number, ...rest: unknown[]) =>
    isCalledFrom('/sessions/sweep.ts') ? real(() => undefined, 0) : real(callback, ms, ...rest)
  globalThis.setTimeout = Object.assign(quiet, real)
  const { setTimeout: delay } = timers
  const soon: typeof delay = (ms, value, options) => delay(isCalledFrom('/sessions/clean-up.ts') ? RETRY_MS : ms, value, options)
  timers.setTimeout = soon
  syncBuiltinESMExports()
  return () => {
    globalThis.setTimeout = real
    timers.setTimeout = delay
    syncBuiltinESMExports()
  }
}

function isCalledFrom(file: string): boolean {
  return new Error('for its stack').stack?.includes(file) ?? false
}
