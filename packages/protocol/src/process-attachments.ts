/**
 * A named process over a WebSocket: binary frames are its stdout and its stdin, text frames the messages below.
 *
 * In raw mode a binary frame is some bytes, in line mode one line with its end. The place in the output, which is what to give as `after`
 * to go on, begins as `seq` of `started`. Each binary frame moves it by its bytes, or to the `seq` of a `place` that came right before it
 * (stderr counts in the place and is not sent), and each `gap` by the bytes that it counts.
 */
import { z } from 'zod'
import { ExecExitEvent, ExecStartedEvent } from './exec.ts'
import { queryNumber } from './paging.ts'
import { ProblemDocument } from './problems.ts'
import { SignalName } from './terminals.ts'

/** The subprotocol of a process's socket. */
export const PROCESS_PROTOCOL = 'holdfast.process.v1'

export const ATTACH_MODES = ['line', 'raw'] as const
export type AttachMode = (typeof ATTACH_MODES)[number]

export const AttachQuery = z.strictObject({
  mode: z.enum(ATTACH_MODES, { error: 'must be "line" or "raw"' }).default('line').meta({ description: 'What one binary frame is.' }),
  after: queryNumber(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: 'Goes on after so many bytes.' }),
  execution: z
    .string()
    .regex(/^\w{1,64}$/, { error: 'must be the id of an execution' })
    .optional()
    .meta({ description: 'Which of that name, for whoever comes back with after; the newest without.' }),
})
export type AttachQuery = z.output<typeof AttachQuery>

/** Text frames from the client. */
export const AttachOrder = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('signal'), signal: SignalName }),
    /** No more input follows, from nobody. */
    z.strictObject({ type: z.literal('end') }),
  ],
  { error: 'must be an object with the type "signal" or "end"' },
)
export type AttachOrder = z.output<typeof AttachOrder>

/** Text frames from the server. */
export const AttachMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('started'), ...ExecStartedEvent.shape, seq: z.int() }),
  /** Where the next binary frame ends. */
  z.object({ type: z.literal('place'), seq: z.int() }),
  z.object({ type: z.literal('gap'), skipped_bytes: z.int() }),
  z.object({ type: z.literal('exit'), ...ExecExitEvent.pick({ exit_code: true, signal: true, status: true, duration_ms: true }).shape }),
  z.object({ type: z.literal('error'), problem: ProblemDocument }),
])
export type AttachMessage = z.output<typeof AttachMessage>
