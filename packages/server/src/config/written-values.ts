/**
 * Values as people write them: in YAML as numbers and lists, in the environment as text. Each schema takes both and yields what the server
 * works with.
 */
import { isAbsolute } from 'node:path'
import { Cpus } from '@holdfast/protocol'
import { z } from 'zod'
import { parseByteSize } from './byte-size.ts'

export const text = (problem: string) => z.string({ error: problem }).min(1, { error: problem })
export const absolutePath = text('must be an absolute path').refine(isAbsolute, { error: 'must be an absolute path' })
export const wholeNumber = (problem: string) => z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)], { error: problem })
export const size = z.union(
  [
    z.number(),
    z.string().transform((value, context) => {
      const bytes = parseByteSize(value)
      if (bytes !== null) return bytes
      context.issues.push({ code: 'custom', message: 'must be a size such as 512m, 1g or 1048576', input: value })
      return z.NEVER
    }),
  ],
  { error: 'must be a size such as 512m, 1g or 1048576' },
)
export const orNone = <S extends z.ZodType>(schema: S, problem: string) =>
  z.union([z.literal('none').transform(() => null), schema], { error: `${problem}, or none` })
export const list = (separator: RegExp) =>
  z.union([z.array(z.string()), z.string().transform((value) => value.split(separator).filter((part) => part !== ''))], {
    error: 'must be a list',
  })

/** `first-last`: above the ids of a system, below 2^31, and enough that two sessions hardly ever have the same. */
export const uidRange = z
  .string()
  .regex(/^\d{1,10}-\d{1,10}$/)
  .transform((value) => value.split('-').map(Number))
  .refine(([first = 0, last = 0]) => first >= 65_536 && last < 2 ** 31 && last - first >= 1_000_000, {
    error: 'must lie between 65536 and 2147483647 and hold more than a million ids',
  })
  .transform(([first = 0, last = 0]) => ({ first, count: last - first + 1 }))

export const cpus = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number),
  ])
  .pipe(Cpus)
