/**
 * The envelope of the Box protocol: one JSON object per message, requests and responses told apart by the key `code`.
 */
import { z } from 'zod'
import { BoxContext } from './box-context.ts'
import { plainText } from './lax.ts'

export const MAXIMUM_MESSAGE_BYTES = 16 * 1024 * 1024
export const MAXIMUM_IN_FLIGHT = 128

/** A number, or one as text; it comes back as it was sent. */
export const SequenceId = z.union([z.int(), z.string().regex(/^[+-]?\d{1,32}$/)], { error: 'must be a whole number' })
export type SequenceId = z.output<typeof SequenceId>

export const BoxRequest = z.object({
  seq_id: SequenceId,
  action: plainText,
  data: z.record(z.string(), z.unknown(), { error: 'must be an object' }),
  context: BoxContext.nullish(),
})
export type BoxRequest = z.output<typeof BoxRequest>

export const BoxResponse = z.object({
  seq_id: z.union([z.int(), z.string()]),
  code: z.int(),
  message: z.string(),
  data: z.record(z.string(), z.unknown()),
  chunk_status: z.enum(['continue', 'end']).nullish(),
})
export type BoxResponse = z.output<typeof BoxResponse>

/** The object in a message, or `null` for what is to be ignored. */
export function parseFrame(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    // Decision: what is no JSON is no message, and has no number under which it could be answered.
    return null
  }
}

/** What comes back for a request whose envelope is broken: its number, if it has one. */
export function sequenceOf(frame: Readonly<Record<string, unknown>>): SequenceId {
  const parsed = SequenceId.safeParse(frame['seq_id'])
  return parsed.success ? parsed.data : -1
}

/** As JSON without half surrogate pairs, which the other end could not encode again. */
export function frameText(frame: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(frame)
  if (!/\\ud[89a-f]/.test(text)) return text
  return JSON.stringify(frame, (_key, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value))
}
