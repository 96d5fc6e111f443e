/**
 * What a request carries → what its schemas say, or `invalid_request` naming the field.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { fieldProblems, HoldfastError, MAXIMUM_PROBLEMS, problemSentence } from '@holdfast/protocol'
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
  const problems = problemsInLarge(schema, value, [])
  if (problems.length > 0) throw refusal(problems)
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw refusal(fieldProblems(parsed.error))
}

/** A schema looks at every member before it reports a problem. So large objects and lists are checked member by member first. */
const LARGE_MEMBERS = 100

/** The first problems of members of large objects and lists, as far as the schema says what they are. */
function problemsInLarge(schema: z.ZodType, value: unknown, path: readonly string[]): readonly FieldProblem[] {
  const inner = unwrapped(schema)
  if (typeof value !== 'object' || value === null) return []
  if (inner instanceof z.ZodObject) {
    for (const [name, member] of Object.entries(inner.shape)) {
      const given: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
      const problems = member instanceof z.ZodType ? problemsInLarge(member, given, [...path, name]) : []
      if (problems.length > 0) return problems
    }
    return []
  }
  const element: unknown =
    inner instanceof z.ZodArray && Array.isArray(value)
      ? inner.element
      : inner instanceof z.ZodRecord && !Array.isArray(value)
        ? inner.valueType
        : null
  const members = Object.entries(value)
  if (!(element instanceof z.ZodType) || members.length <= LARGE_MEMBERS) return []
  const names = inner instanceof z.ZodRecord && inner.keyType instanceof z.ZodType ? inner.keyType : null
  const problems: FieldProblem[] = []
  for (const [name, member] of members) {
    const tries = [names?.safeParse(name), element.safeParse(member)]
    for (const { error } of tries.filter((tried) => tried !== undefined))
      for (const { field, problem } of error === undefined ? [] : fieldProblems(error))
        problems.push({ field: [...path, name, ...(field === '' ? [] : [field])].join('.'), problem })
    if (problems.length >= MAXIMUM_PROBLEMS) break
  }
  return problems.slice(0, MAXIMUM_PROBLEMS)
}

/** Without what only says that it may be left out, or what it then is. */
function unwrapped(schema: z.ZodType): unknown {
  let inner: unknown = schema
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault || inner instanceof z.ZodPipe)
    inner = inner instanceof z.ZodPipe ? inner.in : inner.unwrap()
  return inner
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
