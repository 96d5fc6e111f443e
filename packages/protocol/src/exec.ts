/**
 * `POST /v1/exec` on the wire: the main job in one call.
 *
 * Get or create the session of a key, run one command in its sandbox, answer with what it printed and how it ended.
 * With `Accept: text/event-stream` the same facts arrive as the events below, ended by an in-band `exit` or `error`.
 */
import { z } from 'zod'
import { LimitsWish } from './limits.ts'

export const DEFAULT_TIMEOUT_MS = 30_000
export const MAXIMUM_TIMEOUT_MS = 3_600_000
/** How much of each stream the JSON answer carries; the rest is counted, read and dropped. */
export const CAPTURE_BYTES = 1024 * 1024

const withoutNul = (value: string) => !value.includes('\0')
const NUL_MESSAGE = 'must not contain a NUL character'

/** What shapes a sandbox when it is created; a live session with other values answers `session_incompatible`. */
export const SandboxWish = z.strictObject({
  image: z.string().min(1, { error: 'must not be empty' }).max(255, { error: 'must be at most 255 characters' }).optional(),
  network: z.enum(['off', 'on'], { error: 'must be "off" or "on"' }).optional(),
  limits: LimitsWish.optional(),
})
export type SandboxWish = Readonly<z.output<typeof SandboxWish>>

export const ExecBody = z
  .strictObject({
    /** The caller's name for the conversation: a lookup key, never a file name. */
    session: z
      .string({ error: 'must be a string of 1 to 256 characters' })
      .min(1, { error: 'must not be empty' })
      .max(256, { error: 'must be at most 256 characters' }),
    /** Run as `/bin/sh -c`. */
    command: z.string().min(1, { error: 'must not be empty' }).refine(withoutNul, NUL_MESSAGE).optional(),
    /** Run as it is, without a shell. */
    argv: z.array(z.string().refine(withoutNul, NUL_MESSAGE)).min(1, { error: 'must name at least the program' }).optional(),
    cwd: z
      .string()
      .startsWith('/', { error: 'must be an absolute path inside the sandbox' })
      .max(4096)
      .refine(withoutNul, NUL_MESSAGE)
      .optional(),
    env: z
      .record(
        z.string().regex(/^[^=\0]+$/, { error: 'a name must not be empty or contain "="' }),
        z.string().refine(withoutNul, NUL_MESSAGE),
      )
      .optional(),
    stdin: z.string().optional(),
    timeout_ms: z
      .int({ error: 'must be a whole number of milliseconds' })
      .min(1, { error: 'must be at least 1' })
      .max(MAXIMUM_TIMEOUT_MS, { error: `must be at most ${MAXIMUM_TIMEOUT_MS} (one hour)` })
      .default(DEFAULT_TIMEOUT_MS),
    ...SandboxWish.shape,
  })
  .refine((body) => (body.command === undefined) !== (body.argv === undefined), {
    error: 'give exactly one of command (run by /bin/sh) and argv (run as it is)',
    path: ['command'],
  })
export type ExecBody = z.output<typeof ExecBody>
export type ExecBodyInput = z.input<typeof ExecBody>

export const SessionView = z.object({
  id: z.string(),
  key: z.string(),
  /** Grows by one whenever the sandbox behind the session is another one. */
  incarnation: z.int(),
  workspace: z.enum(['intact', 'restored', 'lost']),
  /** Present on the first result after a change: what survived and what did not, for the model. */
  notice: z.string().optional(),
})
export type SessionView = z.output<typeof SessionView>

export const ExecExitEvent = z.object({
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  /** `lost`: contact with the sandbox broke, so nobody knows how the command ended. */
  status: z.enum(['completed', 'timed_out', 'cancelled', 'lost']),
  duration_ms: z.number(),
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
