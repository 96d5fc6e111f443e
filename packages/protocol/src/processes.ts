/**
 * Named processes on the wire: long-lived executions that a session keeps by a name of the caller's.
 *
 * Output, input and signals go through the execution that is named.
 */
import { z } from 'zod'
import { CommandShape, namesOneCommand, ONE_COMMAND } from './commands.ts'
import { ExecutionView } from './executions.ts'
import { queryNumber } from './paging.ts'
import { MAXIMUM_GRACE_MS } from './sessions.ts'

export const ProcessName = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/, {
  error: 'must be 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit',
})

const { stdin: _whole, ...LastingCommandShape } = CommandShape

export const StartProcessBody = z
  .strictObject({
    name: ProcessName,
    ...LastingCommandShape,
    /** Its stdin stays open for later input. */
    interactive: z.boolean({ error: 'must be true or false' }).default(false),
  })
  .refine(namesOneCommand, ONE_COMMAND)

/** The newest execution of that name. */
export const ProcessView = z.object({
  name: ProcessName,
  execution_id: z.string(),
  ...ExecutionView.pick({ session_id: true, status: true, exit_code: true, signal: true, started_at: true, ended_at: true }).shape,
  /** Bytes that it has printed so far. */
  output_seq: z.int(),
})
export type ProcessView = z.output<typeof ProcessView>

/** The newest of each name, newest first; at most the newest thousand. */
export const ProcessList = z.object({ items: z.array(ProcessView) })

export const StopProcessQuery = z.strictObject({
  grace_ms: queryNumber(0, MAXIMUM_GRACE_MS).optional().meta({ description: 'Between SIGTERM and SIGKILL.' }),
})
