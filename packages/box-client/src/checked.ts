/**
 * A value by its schema, or a `BoxValidationError` with the field and the first thing that is wrong with it.
 */
import { BoxError } from '@holdfast/protocol/box'
import type { z } from 'zod'

/** `name` is what the caller calls it; empty for an object whose fields say it. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, name = ''): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new BoxError('BoxValidationError', firstProblem(parsed.error, name), {}, { cause: parsed.error })
}

/** `memory_mb must be at least 32` */
export function firstProblem({ issues }: z.ZodError, name = ''): string {
  const [issue] = issues
  const field = [...(name === '' ? [] : [name]), ...(issue?.path ?? [])].map(String).join('.')
  return `${field === '' ? 'the value' : field} ${issue?.message ?? 'is not as expected'}`
}
