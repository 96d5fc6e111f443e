/**
 * What a value must be so that both engines keep it exactly as it is.
 *
 * Stands beside the flow. SQLite would keep a NUL character and a fraction in a whole-number column, PostgreSQL refuses both; here they
 * are refused alike, before the statement runs.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SqlValue } from './store.ts'

/** Throws for the first value that would not come back as it went in. */
export function refuseUnstorable(values: readonly SqlValue[]): void {
  for (const value of values) {
    if (typeof value === 'string') refuseText(value)
    else if (typeof value === 'number' && !Number.isSafeInteger(value))
      throw new HoldfastError('internal', `${value} is not a whole number that can be stored; nothing was changed`)
  }
}

/** The text comes from callers, so this is their mistake and not a bug; it is not repeated, because it may be a secret. */
function refuseText(text: string): void {
  if (text.includes('\0')) throw new HoldfastError('invalid_request', 'a text contains a NUL character, which cannot be stored')
  if (!text.isWellFormed()) throw new HoldfastError('invalid_request', 'a text contains half of a surrogate pair, which cannot be stored')
}
