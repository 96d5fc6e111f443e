/**
 * Executions on the wire: commands that are left to run, and what they printed.
 */
import { z } from 'zod'
import { CommandShape, namesOneCommand, ONE_COMMAND, TimeoutMs } from './commands.ts'
import { ExecutionCause } from './execution-cause.ts'
import { queryNumber } from './paging.ts'
import { EXECUTION_STATUSES } from './session-words.ts'
import { GraceMs } from './sessions.ts'
import { SignalName, TerminalSize } from './terminals.ts'

export const MAXIMUM_OUTPUT_BYTES = 1024 * 1024

export const StartExecutionBody = z
  .strictObject({
    ...CommandShape,
    timeout_ms: TimeoutMs.optional().meta({
      description: 'When the command is killed, in milliseconds. Left out: none, except the maximum of the profile.',
    }),
    /** Its stdin stays open for later input. */
    interactive: z.boolean({ error: 'must be true or false' }).default(false),
    /** Runs on a terminal of this size, and is interactive. */
    terminal: TerminalSize.optional(),
    attended: z.boolean({ error: 'must be true or false' }).default(false).meta({
      description:
        'You follow its output as a stream: the program waits while you are more than 512 KiB behind, so that nothing is skipped. Without a reader for a minute it runs on.',
    }),
  })
  .refine(({ attended, terminal }) => !attended || terminal === undefined, {
    error: 'goes without a terminal, which has a socket of its own',
    path: ['attended'],
  })
  .refine(namesOneCommand, ONE_COMMAND)
  .refine(({ stdin, interactive, terminal }) => stdin === undefined || (!interactive && terminal === undefined), {
    error: 'is the whole input; leave it out for one that is interactive or has a terminal',
    path: ['stdin'],
  })

export const InputBody = z
  .strictObject({
    data: z.string({ error: 'must be text' }).default(''),
    encoding: z.enum(['text', 'base64'], { error: 'must be "text" or "base64"' }).default('text'),
    /** No more follows. On a terminal this is the character for it, Ctrl-D. */
    close: z.boolean({ error: 'must be true or false' }).default(false),
  })
  .refine(({ data, encoding }) => encoding === 'text' || z.base64().safeParse(data).success, { error: 'must be base64', path: ['data'] })

export const SignalBody = z.strictObject({
  signal: SignalName,
  /** The program itself, or everything that it started. */
  scope: z.enum(['main', 'tree'], { error: 'must be "main" or "tree"' }).default('main'),
})

export const ResizeBody = z.strictObject(TerminalSize.shape)

export const CancelExecutionBody = z.strictObject({ grace_ms: GraceMs.optional() })

export const ExecutionView = z.object({
  id: z.string(),
  session_id: z.string(),
  sandbox_id: z.string(),
  incarnation: z.int(),
  /** `process`: named and long-lived. */
  kind: z.enum(['command', 'process']),
  name: z.string().nullable(),
  /** Who started it. */
  actor: z.string(),
  timeout_ms: z.int().nullable(),
  status: z.enum(EXECUTION_STATUSES),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  /** Bytes of both streams that were printed, kept or not; of a running one, those of its start. */
  output_seq: z.int(),
  cancel_requested_at: z.iso.datetime().nullable(),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  duration_ms: z.number().nullable(),
  cause: ExecutionCause.nullable().meta({ description: 'Why it failed: the limit that it reached. null where nothing proves one.' }),
})
export type ExecutionView = z.output<typeof ExecutionView>

export const OutputQuery = z.strictObject({
  after: queryNumber(0, Number.MAX_SAFE_INTEGER).prefault('0').meta({ description: 'What was printed after so many bytes.' }),
  limit_bytes: queryNumber(1, MAXIMUM_OUTPUT_BYTES)
    .prefault(`${MAXIMUM_OUTPUT_BYTES}`)
    .meta({ description: 'Of one page; a stream has no limit.' }),
  encoding: z
    .enum(['text', 'base64'], { error: 'must be "text" or "base64"' })
    .default('text')
    .meta({ description: 'text replaces what is not UTF-8, also a character that is cut at the edge of a page; base64 is exact.' }),
})

export const OutputPieceView = z.object({
  channel: z.enum(['stdout', 'stderr']),
  data: z.string(),
  /** Bytes of both streams up to the end of this piece. */
  seq: z.int(),
  at: z.iso.datetime().meta({
    description:
      'When the server received it, to a tenth of a second. What came within the first tenth, or before the server stored times, has the start time of the execution.',
  }),
})

/** `event: stdout` and `event: stderr` of an execution that is followed. */
export const ExecutionOutputEvent = OutputPieceView.omit({ channel: true })
export type ExecutionOutputEvent = z.output<typeof ExecutionOutputEvent>

export const OutputPageView = z.object({
  items: z.array(OutputPieceView),
  /** Bytes that are not kept any more and therefore in no piece. */
  skipped_bytes: z.int(),
  /** What to give as `after` to go on. */
  seq: z.int(),
  /** Everything that was printed so far; there is more to read while this is larger than `seq`. */
  end_seq: z.int(),
})
export type OutputPageView = z.output<typeof OutputPageView>
