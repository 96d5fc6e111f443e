/**
 * The main job in one request: get or create the session, run one command, be told what it printed.
 *
 * The command is attended: it ends when its caller leaves or the connection breaks. As a stream it is complete, and a callback that
 * takes its time slows the program down.
 */
import type { ExecBodyInput, ExecExitEvent, ExecOutputEvent, ExecResult, ExecStartedEvent } from '@holdfast/protocol'
import { fromBase64 } from './base64.ts'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { commandExit, commandResult } from './command-result.ts'
import type { CommandResult } from './command-result.ts'
import { commandFields } from './command-wish.ts'
import type { Command, CommandWish } from './command-wish.ts'
import { HoldfastError } from './errors.ts'
import { refuseUnknown } from './known-options.ts'
import type { OptionNames } from './known-options.ts'
import { createTextCapture } from './text-capture.ts'
import { sessionView } from './session-record.ts'
import type { SessionView } from './session-record.ts'
import { sandboxFields } from './session-wishes.ts'
import type { SandboxWish, SessionName } from './session-wishes.ts'
import { errorOfEvent } from './transport/problem.ts'
import { unreachable } from './transport/transport.ts'
import type { Transport } from './transport/transport.ts'

/** Beyond the command's own time: for a sandbox that is made first. */
const PREPARATION_MS = 120_000
/** The server's own, so that the SDK waits long enough for a command that names none. */
export const DEFAULT_COMMAND_MS = 120_000

export interface ExecOptions extends SessionName, SandboxWish, CommandWish {
  /** A session that exists, instead of `key` or `scope`. */
  readonly sessionId?: string | undefined
  /** Text is run by `/bin/sh -c`; a list is a program and its arguments, run as it is. */
  readonly command: Command
  readonly stdin?: string | undefined
  /** Its stdin stays open, for `write` of the execution that `onStarted` names. */
  readonly interactive?: boolean | undefined
  /** The command's time: its profile's unless given, else 120 seconds; at most what the profile allows, else an hour. Then it is killed, and `status` is `timed_out`. `null`, for one that is watched: no end. */
  readonly timeoutMs?: number | null | undefined
  /** Ends the call, and kills the command. */
  readonly signal?: AbortSignal | undefined
  /** The command is waited for until this returns. */
  readonly onStdout?: ((text: string) => void | Promise<void>) | undefined
  readonly onStderr?: ((text: string) => void | Promise<void>) | undefined
  /** The same byte for byte, in place of the two above. */
  readonly onOutput?: ((piece: { readonly type: 'stdout' | 'stderr'; readonly bytes: Uint8Array }) => void | Promise<void>) | undefined
  /** When it has started. */
  readonly onStarted?: ((started: { readonly executionId: string; readonly session: SessionView }) => void) | undefined
}

const EXEC_OPTIONS: OptionNames<ExecOptions> = {
  ...{ key: true, scope: true, variables: true, missing: true, sessionId: true },
  ...{
    profile: true,
    pipeline: true,
    image: true,
    network: true,
    rootfs: true,
    home: true,
    user: true,
    workspace: true,
    mounts: true,
    limits: true,
  },
  ...{ cwd: true, env: true, expectedIncarnation: true, command: true, stdin: true, interactive: true, timeoutMs: true, signal: true },
  ...{ onStdout: true, onStderr: true, onOutput: true, onStarted: true },
}

/** As a caller of the client asks for it. */
export async function checkedExecute(transport: Transport, options: ExecOptions): Promise<CommandResult> {
  refuseUnknown('exec', options, EXEC_OPTIONS)
  return execute(transport, options)
}

export function execute(transport: Transport, options: ExecOptions): Promise<CommandResult> {
  const { onStdout, onStderr, onOutput, onStarted } = options
  return (onStdout ?? onStderr ?? onOutput ?? onStarted) === undefined
    ? executeWhole(transport, options)
    : executeStreaming(transport, options)
}

async function executeWhole(transport: Transport, options: ExecOptions): Promise<CommandResult> {
  const json = execBody(options)
  return commandResult(await transport.json<ExecResult>({ method: 'POST', path: '/v1/exec', json, ...waitingOf(options) }))
}

async function executeStreaming(transport: Transport, options: ExecOptions): Promise<CommandResult> {
  const headers = { accept: 'text/event-stream' }
  const request = { method: 'POST', path: '/v1/exec', json: execBody(options), headers, isOnce: true, ...waitingOf(options) } as const
  const answer = await transport.open(request)
  const captures = { stdout: createTextCapture(), stderr: createTextCapture() }
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  try {
    for await (const { event, data } of answer.events()) {
      if (event === 'started') {
        const started = parsed<ExecStartedEvent>(data)
        options.onStarted?.({ executionId: started.execution_id, session: sessionView(started.session) })
      } else if (event === 'stdout' || event === 'stderr') {
        const sent = parsed<ExecOutputEvent>(data).data
        if (options.onOutput !== undefined) {
          const bytes = fromBase64(sent)
          captures[event].add(decoders[event].decode(bytes, { stream: true }))
          await options.onOutput({ type: event, bytes })
        } else {
          captures[event].add(sent)
          await (event === 'stdout' ? options.onStdout : options.onStderr)?.(sent)
        }
      } else if (event === 'gap') {
        captures.stdout.miss()
        captures.stderr.miss()
      } else if (event === 'exit') {
        const exit = parsed<ExecExitEvent>(data)
        return { ...commandExit(exit), session: sessionView(exit.session), ...outputOf(captures) }
      } else if (event === 'error') throw errorOfEvent(data)
    }
  } finally {
    answer.close()
  }
  throw unreachable(transport.url, new Error('the stream ended before the command did'))
}

type Captures = Readonly<Record<'stdout' | 'stderr', ReturnType<typeof createTextCapture>>>

export function outputOf({ stdout, stderr }: Captures) {
  return { stdout: stdout.text(), stderr: stderr.text(), stdoutTruncated: stdout.isTruncated(), stderrTruncated: stderr.isTruncated() }
}

function execBody(options: ExecOptions): ExecBodyInput {
  const { key, sessionId, scope, variables, missing, command, stdin, interactive, onOutput, timeoutMs } = options
  return {
    ...(key === undefined ? {} : { session: key }),
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(scope === undefined ? {} : { scope }),
    ...(variables === undefined ? {} : { variables }),
    ...(missing === undefined ? {} : { missing }),
    ...commandFields(command, options),
    ...(stdin === undefined ? {} : { stdin }),
    ...(interactive === undefined ? {} : { interactive }),
    ...(onOutput === undefined ? {} : { encoding: 'base64' }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...sandboxFields(options),
  }
}

function waitingOf({ signal, timeoutMs = DEFAULT_COMMAND_MS }: ExecOptions): CallOptions {
  return callOf({ signal, timeoutMs: (timeoutMs ?? Infinity) + PREPARATION_MS })
}

/** The data of an event of the server's, taken at its word. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what the server sends
export function parsed<T>(data: string): T {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server's shapes are the protocol's
    return JSON.parse(data) as T
  } catch (cause) {
    throw new HoldfastError({ code: 'invalid_answer', message: 'the stream sent an event that is not JSON' }, { cause })
  }
}
