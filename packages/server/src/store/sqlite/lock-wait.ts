/**
 * Waits for a lock that another process holds on a SQLite file, without stopping this one.
 *
 * Stands beside the flow. SQLite's own busy timeout would sleep on the main thread. The kernel tells nobody when such a lock is
 * released; asking again is the only way.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isBusy } from './sqlite-error.ts'

const POLL_MS = 10

/** Gives what `attempt` gives once it meets no lock, or throws what it threw when `limitMs` have passed. */
export async function waitWhileBusy<T>(limitMs: number, attempt: () => T | Promise<T>, onRetry?: () => void): Promise<T> {
  const deadlineMs = performance.now() + limitMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadlineMs) throw error
    }
    await delay(POLL_MS)
    onRetry?.()
  }
}
