/**
 * Why a command failed, where the server can prove it: the limit that was reached, its figure and the setting that raises it.
 */
import { z } from 'zod'

/** What `limit` counts: milliseconds for `timeout`, processes for `process_limit`, bytes for the others. */
export const CAUSE_CODES = ['timeout', 'out_of_memory', 'process_limit', 'tmp_full', 'home_full', 'workspace_full'] as const
export type CauseCode = (typeof CAUSE_CODES)[number]

export const ExecutionCause = z.object({
  code: z.enum(CAUSE_CODES),
  limit: z.number().meta({ description: 'The limit: milliseconds for timeout, processes for process_limit, bytes for the others.' }),
  setting: z.string().meta({ description: 'The field of a request that sets this limit.' }),
  message: z.string().meta({ description: 'The same as a sentence, with what to do.' }),
})
export type ExecutionCause = z.output<typeof ExecutionCause>
