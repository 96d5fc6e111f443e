/**
 * Commands of a session: run and waited for, or left to run.
 *
 * Two roads lead to the server. A run that nobody watches and that ends soon is one request (`POST /v1/exec`): quickest, its output is
 * exact up to the first MiB, and it ends with whoever waits for it, even when that program is killed. A run that is watched, gets a
 * stream as input, or may take long is an execution that is followed: its connection may break, and its server may be restarted. The program
 * waits for a callback that takes its time, so that nothing it prints is lost.
 */
import type { ExecStartedEvent, ExecutionView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import type { CommandResult } from './command-result.ts'
import { commandFields } from './command-wish.ts'
import type { Command, CommandWish } from './command-wish.ts'
import { HoldfastError, isHoldfastError } from './errors.ts'
import { DEFAULT_COMMAND_MS, execute } from './exec.ts'
import { createExecution } from './execution.ts'
import type { Execution, KillOptions, OutputCallbacks } from './execution.ts'
import { executionRecord } from './execution-record.ts'
import type { ExecutionRecord, Killed } from './execution-record.ts'
import { feed } from './feeding.ts'
import type { Content } from './input.ts'
import { refuseUnknown } from './known-options.ts'
import type { OptionNames } from './known-options.ts'
import { createList } from './lists.ts'
import type { List, PagingOptions } from './lists.ts'
import { sessionView } from './session-record.ts'
import type { SessionView } from './session-record.ts'
import { linkedSignal, unlessAborted } from './transport/patience.ts'
import type { Transport } from './transport/transport.ts'

export interface StartOptions extends CommandWish {
  /** Text that is all of its input. */
  readonly stdin?: string | undefined
  /** Its stdin stays open for `write`. */
  readonly interactive?: boolean | undefined
  /** Runs on a terminal of this size, and is interactive. */
  readonly terminal?: { readonly cols: number; readonly rows: number } | undefined
  /** The command's own time; left out, it may run for as long as its session. */
  readonly timeoutMs?: number | undefined
  /** Ends the call, not the command. */
  readonly signal?: AbortSignal | undefined
}

export interface RunOptions extends CommandWish, OutputCallbacks {
  /** Its whole input: text, bytes, a blob or a stream. */
  readonly stdin?: Content | undefined
  /** The command's time: 120 seconds unless given, at most an hour. Then it is killed, and `status` is `timed_out`. */
  readonly timeoutMs?: number | undefined
  /** Ends the call, and kills the command. */
  readonly signal?: AbortSignal | undefined
  readonly background?: false | undefined
}

export interface Commands {
  /** Runs it to its end. That it failed is a result: look at `exitCode`. */
  run(command: Command, options?: RunOptions): Promise<CommandResult>
  /** The same as `start`. */
  run(command: Command, options: StartOptions & { readonly background: true }): Promise<Execution>
  /** Starts it and leaves it running. */
  start(command: Command, options?: StartOptions): Promise<Execution>
  /** One that was started before, by whomever. */
  connect(executionId: string, options?: CallOptions): Promise<Execution>
  /** Newest first. */
  list(options?: PagingOptions): List<ExecutionRecord>
  /** Ends it with everything it started. One that has ended is left as it is. */
  kill(executionId: string, options?: KillOptions): Promise<Killed>
}

const START_OPTIONS: OptionNames<StartOptions & { readonly background: true }> = {
  ...{ cwd: true, env: true, expectedIncarnation: true },
  ...{ stdin: true, interactive: true, terminal: true, timeoutMs: true, signal: true, background: true },
}

const RUN_OPTIONS: OptionNames<RunOptions> = {
  ...{ cwd: true, env: true, expectedIncarnation: true },
  ...{ stdin: true, timeoutMs: true, signal: true, background: true },
  ...{ onStdout: true, onStderr: true },
}

export interface CommandsNeeds {
  readonly transport: Transport
  readonly session: () => SessionView
  readonly letGo: AbortSignal
}

/** Nothing flows while a plain request waits, and what stands between cuts silent connections after about a minute. */
const LONGEST_PLAIN_MS = 50_000
/** A request's body is at most 2 MiB, and JSON may double some characters. */
const LONGEST_PLAIN_STDIN = 256 * 1024
const KILL_MS = 10_000

export function createCommands({ transport, session, letGo }: CommandsNeeds): Commands {
  const path = `/v1/sessions/${session().id}/executions`
  const handle = (id: string, view: SessionView) => createExecution({ transport, id, session: view, letGo })

  async function start(command: Command, options: StartOptions & { readonly attended?: true } = {}): Promise<Execution> {
    const { stdin, interactive, terminal, timeoutMs, signal } = options
    const json = {
      ...commandFields(command, options),
      ...(stdin === undefined ? {} : { stdin }),
      ...(interactive === undefined ? {} : { interactive }),
      ...(terminal === undefined ? {} : { terminal }),
      ...(options.attended === undefined ? {} : { attended: true }),
      ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    }
    const started = await transport.json<ExecStartedEvent>({ method: 'POST', path, json, signal })
    return handle(started.execution_id, sessionView(started.session))
  }

  async function runWatched(command: Command, { stdin, onStdout, onStderr, signal, ...options }: RunOptions): Promise<CommandResult> {
    const input = typeof stdin === 'string' && isShort(stdin) ? { stdin } : { interactive: stdin !== undefined }
    const starting = start(command, { timeoutMs: DEFAULT_COMMAND_MS, ...options, ...input, attended: true })
    const execution = await unlessAborted(starting, signal).catch((error: unknown) => {
      // It may have started all the same.
      starting.then((started) => started.kill({ timeoutMs: KILL_MS })).catch(() => undefined)
      throw error
    })
    const linked = linkedSignal(signal)
    const feeding = stdin === undefined || 'stdin' in input ? null : feed(execution, stdin, linked.signal)
    feeding?.done.catch((error: unknown) => linked.abort(error))
    try {
      return await execution.wait({ onStdout, onStderr, signal: linked.signal })
    } catch (error) {
      if (isHoldfastError(error, 'server_unreachable')) throw withExecution(error, execution.id)
      // Nobody attends it any more. Should this fail too, the command's own time ends it.
      if (!letGo.aborted) await execution.kill({ timeoutMs: KILL_MS }).catch(() => undefined)
      throw error
    } finally {
      linked.abort()
      linked.end()
      feeding?.stop()
    }
  }

  function run(command: Command, options?: RunOptions): Promise<CommandResult>
  function run(command: Command, options: StartOptions & { readonly background: true }): Promise<Execution>
  async function run(
    command: Command,
    options: RunOptions | (StartOptions & { readonly background: true }) = {},
  ): Promise<CommandResult | Execution> {
    if (options.background === true) return checkedStart(command, options)
    refuseUnknown('commands.run', options, RUN_OPTIONS)
    const { stdin, onStdout, onStderr, timeoutMs } = options
    const isWatched = (onStdout ?? onStderr) !== undefined || (timeoutMs !== undefined && timeoutMs > LONGEST_PLAIN_MS)
    if (isWatched || (stdin !== undefined && !(typeof stdin === 'string' && isShort(stdin)))) return runWatched(command, options)
    const { cwd, env, expectedIncarnation, signal } = options
    return execute(transport, { sessionId: session().id, command, cwd, env, expectedIncarnation, signal, stdin, timeoutMs })
  }

  async function checkedStart(command: Command, options: StartOptions = {}): Promise<Execution> {
    refuseUnknown('commands.start', options, START_OPTIONS)
    return start(command, options)
  }

  return {
    run,
    start: checkedStart,
    async connect(executionId, options = {}) {
      const found = await transport.json<ExecutionView>({ path: `${path}/${encodeURIComponent(executionId)}`, ...callOf(options) })
      return handle(found.id, session())
    },
    list: (options = {}) => createList(transport, { path }, options, executionRecord),
    kill: (executionId, options) => handle(encodeURIComponent(executionId), session()).kill(options),
  }
}

function isShort(text: string): boolean {
  return text.length <= LONGEST_PLAIN_STDIN
}

/** So that it can be connected to again, once the server is there. */
function withExecution(error: HoldfastError, id: string): HoldfastError {
  const { code, message, status, retry, hint, requestId, details } = error
  return new HoldfastError({ code, message, status, retry, hint, requestId, details: { ...details, execution_id: id } }, { cause: error })
}
