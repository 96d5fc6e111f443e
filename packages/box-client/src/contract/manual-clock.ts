/**
 * A clock that stands still until a test moves it, and tells when somebody waits on it.
 */
import type { BoxClock } from '../clock.ts'

export interface ManualClock extends BoxClock {
  /** Moves on and fires what is due, in order. */
  pass(ms: number): void
  /** Settles once somebody waits for exactly so long from now. */
  armed(ms: number): Promise<void>
  /** How long everybody who waits has still to wait. */
  readonly waits: readonly number[]
}

interface Timer {
  readonly at: number
  readonly run: () => void
}

export function manualClock(start = Date.UTC(2026, 10, 16)): ManualClock {
  const timers = new Set<Timer>()
  const watchers = new Set<() => void>()
  let now = start
  const waits = () => [...timers].map(({ at }) => at - now)
  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      for (const watcher of watchers) watcher()
      return () => void timers.delete(timer)
    },
    pass(ms) {
      const end = now + ms
      for (;;) {
        const next = [...timers].filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at)[0]
        if (next === undefined) break
        timers.delete(next)
        now = next.at
        next.run()
      }
      now = end
    },
    armed(ms) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = () => {
        if (!waits().includes(ms)) return
        watchers.delete(look)
        resolve()
      }
      watchers.add(look)
      look()
      return promise
    },
    get waits() {
      return waits()
    },
  }
}
