/**
 * What a request carries → what its schemas say, or `invalid_request` naming the field.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { fieldProblems, HoldfastError, problemSentence } from '@holdfast/protocol'
import type { FieldProblem } from '@holdfast/protocol'
import { z } from 'zod'

/** An empty body is that of an empty object. */
export function parseBody<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  return checked(schema, text.trim() === '' ? {} : parseJson(text))
}

export function parsePath<S extends z.ZodType>(schema: S, params: Readonly<Record<string, string>>): z.output<S> {
  return checked(schema, params)
}

/** A parameter that is not known, or given twice where its schema is no list, is refused by its name. */
export function parseQuery<S extends z.ZodType>(schema: S, query: URLSearchParams): z.output<S> {
  const values = new Map<string, string | string[]>()
  for (const [name, value] of query) {
    const known = values.get(name)
    if (Array.isArray(known)) known.push(value)
    else if (known !== undefined) throw refusal([{ field: name, problem: 'is given more than once' }])
    else values.set(name, isList(schema, name) ? [value] : value)
  }
  return checked(schema, Object.fromEntries(values))
}

function isList(schema: z.ZodType, name: string): boolean {
  const field: unknown = schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined
  return (field instanceof z.ZodOptional ? field.unwrap() : field) instanceof z.ZodArray
}

function checked<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw refusal(fieldProblems(parsed.error))
}

function refusal(problems: readonly FieldProblem[]): HoldfastError {
  return new HoldfastError('invalid_request', problemSentence(problems), { problems })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HoldfastError('invalid_request', `the body is not valid JSON: ${reason}`, {}, { cause })
  }
}
