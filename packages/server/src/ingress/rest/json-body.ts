/**
 * A request's body → what its schema says, or `invalid_request` naming the field.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { fieldProblems, HoldfastError, problemSentence } from '@holdfast/protocol'
import type { z } from 'zod'

export function parseJsonBody<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  const parsed = schema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  const problems = fieldProblems(parsed.error)
  throw new HoldfastError('invalid_request', problemSentence(problems), { problems })
}

function parseJson(text: string): unknown {
  if (text.trim() === '') throw new HoldfastError('invalid_request', 'the body is empty; send a JSON object')
  try {
    return JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('invalid_request', `the body is not valid JSON: ${reason}`, {}, { cause })
  }
}
