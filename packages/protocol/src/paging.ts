/**
 * Lists on the wire: pages by key, with a token that leads to the next one.
 *
 * Numbers in a query arrive as text. What is added or removed between two pages makes no item come twice and none be left out.
 */
import { z } from 'zod'

export const DEFAULT_PAGE_SIZE = 50
export const MAXIMUM_PAGE_SIZE = 200

/** A whole number in a query, from text. */
export function queryNumber(minimum: number, maximum: number) {
  const problem = `must be a whole number from ${minimum} to ${maximum}`
  return z
    .string({ error: problem })
    .regex(/^\d{1,16}$/, { error: problem, abort: true })
    .transform(Number)
    .pipe(z.int({ error: problem }).min(minimum, { error: problem }).max(maximum, { error: problem }))
}

/** A claim in a query, from text. */
export function queryFlag(usual: boolean) {
  return z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((text) => text === 'true')
    .prefault(usual ? 'true' : 'false')
}

export const PageSize = queryNumber(1, MAXIMUM_PAGE_SIZE).prefault(`${DEFAULT_PAGE_SIZE}`).meta({ description: 'How many items at most.' })

/** Of every list that has more than one page. */
export const PagingShape = {
  page_size: PageSize,
  /** `next_page_token` of the page before, with the same filters. */
  page_token: z.string().max(1024, { error: 'must be at most 1024 characters' }).optional(),
}

export function pageOf<S extends z.ZodType>(item: S) {
  return z.object({
    items: z.array(item),
    /** `null` on the last page. */
    next_page_token: z.string().nullable(),
  })
}
