/**
 * For what follows from an action by itself, without an event that a test could await.
 */
import { expect, vi } from 'vitest'
import { PATIENCE_MS } from './patience.ts'

/** As `expect.poll`, for tests that run at once and have their own `expect`. */
export function eventually<T>(look: () => T, within: Pick<typeof expect, 'poll'> = expect) {
  return within.poll(look, { timeout: PATIENCE_MS, interval: 20 })
}

/** Waits until the claim no longer throws. With fake timers their time passes meanwhile. */
export function untilHolds<T>(claim: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(claim, { timeout: PATIENCE_MS, interval: 20 })
}
