/**
 * Failures on the wire: RFC 9457 problem documents, each a row of the error table with its message.
 */
import { z } from 'zod'

export const ProblemDocument = z.object({
  type: z.string(),
  /** A sentence with the value that was wrong. */
  title: z.string(),
  /** Stable: programs compare this. */
  code: z.string(),
  status: z.int(),
  retry: z.enum(['never', 'after-delay', 'after-change']),
  hint: z.string(),
  details: z.record(z.string(), z.unknown()),
  /** The server's log has more under this id. */
  request_id: z.string(),
})
export type ProblemDocument = z.output<typeof ProblemDocument>

/** A row of the error table. */
export const ErrorRow = z.object({
  code: z.string(),
  status: z.int(),
  retry: z.enum(['never', 'after-delay', 'after-change']),
  hint: z.string(),
})
export const ErrorTable = z.object({ items: z.array(ErrorRow) })
