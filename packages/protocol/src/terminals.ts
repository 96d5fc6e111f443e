/**
 * Terminals on the wire: a WebSocket whose binary frames are the terminal's bytes, and whose text frames are the messages below.
 *
 * `seq` of `started`, plus the bytes that came since, plus those that a `gap` counts, is what to give as `after` to go on.
 */
import { z } from 'zod'
import { CommandShape } from './commands.ts'
import { ExecExitEvent, ExecStartedEvent } from './exec.ts'
import { queryNumber } from './paging.ts'
import { ProblemDocument } from './problems.ts'

/** The subprotocol of a terminal's socket. */
export const TERMINAL_PROTOCOL = 'holdfast.terminal.v1'
/** A browser cannot set headers on a socket, so it offers its key as a second subprotocol behind this word. */
export const KEY_PROTOCOL_PREFIX = 'holdfast.key.'

export const DEFAULT_COLS = 80
export const DEFAULT_ROWS = 24
const MAXIMUM_SIDE = 65_535
const SIDE = `must be a whole number from 1 to ${MAXIMUM_SIDE}`

const Side = z.int({ error: SIDE }).min(1, { error: SIDE }).max(MAXIMUM_SIDE, { error: SIDE })

export const TerminalSize = z.strictObject({ cols: Side, rows: Side })
export type TerminalSize = z.output<typeof TerminalSize>

/** A signal of Linux by its name. Whether there is such a one is said when it is sent. */
export const SignalName = z.string().regex(/^SIG[A-Z0-9]{2,9}$/, { error: 'must be the name of a signal, such as SIGINT' })

export const TerminalQuery = z
  .strictObject({
    cols: queryNumber(1, MAXIMUM_SIDE)
      .optional()
      .meta({ description: `${DEFAULT_COLS} for a new one; with execution, its new size.` }),
    rows: queryNumber(1, MAXIMUM_SIDE)
      .optional()
      .meta({ description: `${DEFAULT_ROWS} for a new one; with execution, its new size.` }),
    command: CommandShape.command.meta({ description: 'Run by /bin/sh; a login shell if there is none.' }),
    cwd: CommandShape.cwd,
    execution: z
      .string()
      .regex(/^\w{1,64}$/, { error: 'must be the id of an execution' })
      .optional()
      .meta({ description: 'Attaches to a terminal that was started before.' }),
    after: queryNumber(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: 'With execution: goes on after so many bytes.' }),
  })
  .refine(({ cols, rows }) => (cols === undefined) === (rows === undefined), { error: 'give cols and rows together', path: ['cols'] })
  .refine(({ execution, after }) => execution !== undefined || after === undefined, { error: 'goes with execution', path: ['after'] })
  .refine(({ execution, command, cwd }) => execution === undefined || (command === undefined && cwd === undefined), {
    error: 'a terminal that exists has its command and directory already',
    path: ['execution'],
  })
export type TerminalQuery = z.output<typeof TerminalQuery>

/** Text frames from the client. */
export const TerminalOrder = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('resize'), ...TerminalSize.shape }),
    z.strictObject({ type: z.literal('signal'), signal: SignalName }),
    /** Leave it running; the server then closes with 1000. */
    z.strictObject({ type: z.literal('detach') }),
  ],
  { error: 'must be an object with the type "resize", "signal" or "detach"' },
)
export type TerminalOrder = z.output<typeof TerminalOrder>

/** Text frames from the server. */
export const TerminalMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('started'),
    ...ExecStartedEvent.shape,
    /** Bytes that lie before the first one that follows. */
    seq: z.int(),
  }),
  z.object({ type: z.literal('gap'), skipped_bytes: z.int() }),
  z.object({ type: z.literal('exit'), ...ExecExitEvent.pick({ exit_code: true, signal: true, status: true, duration_ms: true }).shape }),
  z.object({ type: z.literal('error'), problem: ProblemDocument }),
])
export type TerminalMessage = z.output<typeof TerminalMessage>
