/**
 * Named processes on the wire: long-lived executions that a session keeps by a name of the caller's.
 *
 * Output, input and signals go through the execution that is named, or through a socket that is attached to it.
 */
import { z } from 'zod'
import { CommandShape, namesOneCommand, ONE_COMMAND } from './commands.ts'
import { ExecutionView } from './executions.ts'
import { queryNumber } from './paging.ts'
import { MAXIMUM_GRACE_MS } from './sessions.ts'

export const ProcessName = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/, {
  error: 'must be 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit',
})

/** A pause before a start grows no further than this. */
export const MAXIMUM_BACKOFF_MS = 30_000
const MINIMUM_BACKOFF_MS = 100
const MAXIMUM_RESTARTS = 1_000_000

export const RESTART_POLICIES = ['no', 'on-failure', 'always'] as const
export type RestartPolicy = (typeof RESTART_POLICIES)[number]

const POLICY = 'must be "no", "on-failure" or "always"'
const RESTARTS = `must be a whole number from 0 to ${MAXIMUM_RESTARTS}`
const BACKOFF = `must be a whole number of milliseconds from ${MINIMUM_BACKOFF_MS} to ${MAXIMUM_BACKOFF_MS}`

/** What becomes of a process that ends by itself. One that somebody ends stays ended. */
export const RestartRules = z.strictObject({
  policy: z.enum(RESTART_POLICIES, { error: POLICY }).meta({ description: 'on-failure: not after exit code 0.' }),
  max_restarts: z
    .int({ error: RESTARTS })
    .min(0, { error: RESTARTS })
    .max(MAXIMUM_RESTARTS, { error: RESTARTS })
    .optional()
    .meta({ description: 'In all; left out, there is no limit.' }),
  backoff_ms: z
    .int({ error: BACKOFF })
    .min(MINIMUM_BACKOFF_MS, { error: BACKOFF })
    .max(MAXIMUM_BACKOFF_MS, { error: BACKOFF })
    .default(1_000)
    .meta({ description: `Before the first restart; twice as long before each further one, up to ${MAXIMUM_BACKOFF_MS}.` }),
})
export type RestartRules = z.output<typeof RestartRules>

const { stdin: _whole, ...LastingCommandShape } = CommandShape

export const StartProcessBody = z
  .strictObject({
    name: ProcessName,
    ...LastingCommandShape,
    /** Its stdin stays open for later input. */
    interactive: z.boolean({ error: 'must be true or false' }).default(false),
    restart: RestartRules.optional().meta({ description: 'Left out, it is started once.' }),
  })
  .refine(namesOneCommand, ONE_COMMAND)

/** The newest execution of that name. */
export const ProcessView = z.object({
  name: ProcessName,
  execution_id: z.string(),
  ...ExecutionView.pick({ session_id: true, status: true, exit_code: true, signal: true, started_at: true, ended_at: true }).shape,
  /** Bytes that it has printed so far. */
  output_seq: z.int(),
  /** How it is restarted; `null`: it is not. */
  restart: z.object({ policy: z.enum(RESTART_POLICIES), max_restarts: z.int().nullable(), backoff_ms: z.int() }).nullable(),
  /** How often it was. */
  restarts: z.int(),
  /** When it will be again, unless somebody ends it; `null`: it runs, or it is over. */
  next_start_at: z.iso.datetime().nullable(),
  /** Clients that are attached to it. */
  attached: z.int(),
})
export type ProcessView = z.output<typeof ProcessView>

/** The newest of each name, newest first; at most the newest thousand. */
export const ProcessList = z.object({
  items: z.array(ProcessView),
  /** There are more names than these. */
  truncated: z.boolean(),
})

export const STDERR_TAIL_BYTES = 4_096

/** One of them, looked at closely. */
export const ProcessDetails = ProcessView.extend({
  /**
   * The end of its stderr in whole characters, at most 4 KiB of it, found among the last 256 KiB that it printed; `null` for those who may
   * not read its output, and while that lies with another server.
   */
  stderr_tail: z.string().nullable(),
})
export type ProcessDetails = z.output<typeof ProcessDetails>

export const StopProcessQuery = z.strictObject({
  grace_ms: queryNumber(0, MAXIMUM_GRACE_MS).optional().meta({ description: 'Between SIGTERM and SIGKILL.' }),
})
