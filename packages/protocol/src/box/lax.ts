/**
 * Values as the Box protocol's models read them: laxly, so that `"5"`, `5.0` and `5` are one number and `"yes"` is true.
 *
 * Text is never made of anything else: a number where text belongs is refused.
 */
import { z } from 'zod'

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 'true', 't', 'yes', 'y', 'on'].map((word) => [word, true] as const),
  ...['0', 'false', 'f', 'no', 'n', 'off'].map((word) => [word, false] as const),
])

/** Longer texts are not numbers that anybody means. */
const MAXIMUM_NUMBER_LENGTH = 64

function numberOf(value: unknown, text: RegExp): unknown {
  if (typeof value === 'boolean') return Number(value)
  if (typeof value !== 'string' || value.length > MAXIMUM_NUMBER_LENGTH) return value
  return text.test(value.trim()) ? Number(value.trim()) : value
}

function booleanOf(value: unknown): unknown {
  if (typeof value === 'string') return WORDS.get(value.trim().toLowerCase()) ?? value
  return value === 0 ? false : value === 1 ? true : value
}

/** Whole numbers, also as text, as a fraction of zero or as a truth value. */
export const laxInteger = z.preprocess((value) => numberOf(value, /^[+-]?\d+(\.0*)?$/), z.int({ error: 'must be a whole number' }))

export const laxNumber = z.preprocess(
  (value) => numberOf(value, /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i),
  z.number({ error: 'must be a number' }),
)

export const laxBoolean = z.preprocess(booleanOf, z.boolean({ error: 'must be true or false' }))

export const plainText = z.string({ error: 'must be text' })
export const trimmedText = plainText.trim().min(1, { error: 'must not be empty' })
export const absoluteInside = plainText.startsWith('/', { error: 'must begin with /' })
export const textMap = z.record(z.string(), plainText, { error: 'must be an object of texts' })
