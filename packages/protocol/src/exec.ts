/**
 * `POST /v1/exec` on the wire: the main job in one call.
 *
 * Get or create the session of a key, run one command in its sandbox, answer with what it printed and how it ended.
 * With `Accept: text/event-stream` the same facts arrive as the events below, ended by an in-band `exit` or `error`.
 */
import { z } from 'zod'
import { CommandShape, namesOneCommand, ONE_COMMAND, TimeoutMs } from './commands.ts'
import { SandboxWish } from './sandbox-wish.ts'
import { ConversationShape, namesOneConversation, ONE_CONVERSATION, shapesNoOther } from './conversation.ts'
import { ExecutionCause } from './execution-cause.ts'
import { EXECUTION_STATUSES, WORKSPACE_VERDICTS } from './session-words.ts'

/** Of an attended command that names none, in a session without a profile. Commands that are left to run have none. */
export const DEFAULT_TIMEOUT_MS = 120_000
/** How much of each stream the JSON answer carries; the rest is counted, read and dropped. */
export const CAPTURE_BYTES = 1024 * 1024

export const ExecBody = z
  .strictObject({
    ...ConversationShape,
    ...CommandShape,
    timeout_ms: TimeoutMs.nullable().optional().meta({
      description:
        "When the command is killed, in milliseconds. Left out: the profile's, else 120000. null, for a stream only: none. A profile's maximum always holds.",
    }),
    /** For a stream only: its stdin stays open for later input, by the id that `started` tells. */
    interactive: z.boolean({ error: 'must be true or false' }).default(false),
    /** Of a stream: `text` replaces what is not UTF-8, `base64` is byte for byte. */
    encoding: z.enum(['text', 'base64'], { error: 'must be "text" or "base64"' }).default('text'),
    ...SandboxWish.shape,
  })
  .refine(namesOneCommand, ONE_COMMAND)
  .refine(({ stdin, interactive }) => stdin === undefined || !interactive, {
    error: 'is the whole input; leave it out for one that is interactive',
    path: ['stdin'],
  })
  .refine(namesOneConversation, ONE_CONVERSATION)
  .check(shapesNoOther)
export type ExecBody = z.output<typeof ExecBody>
export type ExecBodyInput = z.input<typeof ExecBody>

export const SessionView = z.object({
  id: z.string(),
  key: z.string(),
  /** Grows by one whenever the sandbox behind the session is another one. */
  incarnation: z.int(),
  workspace: z.enum(WORKSPACE_VERDICTS),
  /** Present on the first result after a change: what survived and what did not, for the model. */
  notice: z.string().optional(),
})
export type SessionView = z.output<typeof SessionView>

export const ExecExitEvent = z.object({
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  /** `lost`: contact with the sandbox broke, so nobody knows how the command ended. */
  status: z.enum(EXECUTION_STATUSES),
  /** `null` when nobody knows. */
  duration_ms: z.number().nullable(),
  timeout_ms: z.int().nullable().meta({ description: 'The time that the command had; null: no limit.' }),
  cause: ExecutionCause.nullable().meta({ description: 'Why it failed: the limit that it reached. null where nothing proves one.' }),
  session: SessionView,
  execution_id: z.string(),
})
export type ExecExitEvent = z.output<typeof ExecExitEvent>

export const ExecResult = ExecExitEvent.extend({
  stdout: z.string(),
  stderr: z.string(),
  stdout_truncated: z.boolean(),
  stderr_truncated: z.boolean(),
})
export type ExecResult = z.output<typeof ExecResult>

/** `event: stdout` and `event: stderr`: text of whole characters only; `seq` counts bytes of both streams. */
export const ExecOutputEvent = z.object({ data: z.string(), seq: z.number() })
export type ExecOutputEvent = z.output<typeof ExecOutputEvent>

/** `event: started`, the first one. */
export const ExecStartedEvent = z.object({ execution_id: z.string(), session: SessionView })
export type ExecStartedEvent = z.output<typeof ExecStartedEvent>
