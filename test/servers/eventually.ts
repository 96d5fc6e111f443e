/**
 * For what follows from a deed by itself, without an event that a test could await.
 */
import { expect } from 'vitest'

/** As `expect.poll`, with patience for a busy machine. */
export function eventually<T>(look: () => T) {
  return expect.poll(look, { timeout: 20_000, interval: 20 })
}
