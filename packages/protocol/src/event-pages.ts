/**
 * Events read back over HTTP: a page after a cursor, or a stream that goes on.
 */
import { z } from 'zod'
import { SessionEvent } from './events.ts'
import { PageSize, queryNumber } from './paging.ts'

export const SessionEventsQuery = z.strictObject({
  after: queryNumber(0, Number.MAX_SAFE_INTEGER).prefault('0').meta({ description: 'The seq of the last event you have.' }),
  page_size: PageSize,
})
export const SessionEventsPage = z.object({
  items: z.array(SessionEvent),
  /** What to give as `after` to go on. */
  after: z.int(),
})

export const TenantEventsQuery = z.strictObject({
  after: z
    .string()
    .regex(/^(now|evt_\w{1,60})$/, { error: 'must be the id of an event, or now' })
    .optional()
    .meta({ description: 'The id of the last event you have, or now; left out, the oldest event that is kept comes first.' }),
  page_size: PageSize,
})
export const TenantEventsPage = z.object({ items: z.array(SessionEvent), after: z.string().nullable() })
