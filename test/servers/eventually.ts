/**
 * For what follows from a deed by itself, without an event that a test could await.
 */
import { expect } from 'vitest'

/** As `expect.poll`, with patience for a busy machine. Tests that run at once give their own `expect`. */
export function eventually<T>(look: () => T, within: Pick<typeof expect, 'poll'> = expect) {
  return within.poll(look, { timeout: 20_000, interval: 20 })
}
