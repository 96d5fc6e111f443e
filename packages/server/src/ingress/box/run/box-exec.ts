/**
 * `box_exec`: one command in its session, with what it printed.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A command that takes too long is killed with all that it started, and its session lives on. Commands of one session run beside each
 * other. A caller that leaves takes its command with it.
 */
import { isHoldfastError } from '@holdfast/protocol'
import { BoxError, isBoxError } from '@holdfast/protocol/box'
import type { BoxExecutionResult, BoxSpec } from '@holdfast/protocol/box'
import type { Command } from '../../../sessions/executions/command.ts'
import type { CommandEnd } from '../../../sessions/executions/executions.ts'
import type { Started } from '../../../sessions/running.ts'
import type { Sessions } from '../../../sessions/sessions.ts'
import { shownIdOf } from '../tenant.ts'
import type { BoxTenant } from '../tenant.ts'
import type { BoxSessions, EnteredSession } from './box-sessions.ts'
import { ClippedOutput } from './clipped-output.ts'
import { exitCodeOf } from './exit-code.ts'
import { withDirectory } from './made-directory.ts'

/** A longer one does not fit into one argument, and is given as input. */
const MAXIMUM_ARGUMENT_BYTES = 120_000
/** Twelve days; timers know no more. */
const MAXIMUM_TIMEOUT_SECONDS = 1_000_000

export interface BoxExec {
  exec(tenant: BoxTenant, spec: BoxSpec, signal: AbortSignal): Promise<BoxExecutionResult>
  /** Whether a command of a Box client is under way in this session. */
  isRunning(sessionId: string): boolean
}

export interface BoxExecNeeds {
  readonly boxSessions: Pick<BoxSessions, 'enter' | 'forget'>
  readonly sessions: Pick<Sessions, 'commands' | 'files'>
  readonly backendName: string
}

export function createBoxExec({ boxSessions, sessions, backendName }: BoxExecNeeds): BoxExec {
  const { commands, files } = sessions
  /** Commands under way, by session. */
  const running = new Map<string, number>()

  async function run({ caller, id }: EnteredSession, spec: BoxSpec, signal: AbortSignal): Promise<Omit<BoxExecutionResult, 'session_id'>> {
    const request = { command: commandOf(spec) }
    const start = () => commands.run(caller, { id }, request, signal, (started) => finished(started, spec, backendName))
    running.set(id, (running.get(id) ?? 0) + 1)
    try {
      return await withDirectory(files, { caller, sessionId: id, signal }, spec.workdir, start)
    } finally {
      const left = (running.get(id) ?? 1) - 1
      if (left === 0) running.delete(id)
      else running.set(id, left)
    }
  }

  async function exec(tenant: BoxTenant, spec: BoxSpec, signal: AbortSignal): Promise<BoxExecutionResult> {
    const entered = await boxSessions.enter(tenant, spec, signal)
    const session_id = shownIdOf(tenant, spec.session_id)
    try {
      return { session_id, ...(await run(entered, spec, signal)) }
    } catch (error) {
      const isGone = isHoldfastError(error, 'session_closed') || isHoldfastError(error, 'not_found')
      // A failure with a class is one of a command that ran.
      if (!isGone || isBoxError(error)) throw error
    }
    // It was remembered, and has ended since: nothing was started in it.
    boxSessions.forget(tenant, spec.session_id)
    return { session_id, ...(await run(await boxSessions.enter(tenant, spec, signal), spec, signal)) }
  }

  return { exec, isRunning: (sessionId) => running.has(sessionId) }
}

function commandOf({ cmd, workdir: cwd, env, timeout_sec: seconds }: BoxSpec): Command {
  const rest = { cwd, env, timeoutMs: Math.min(seconds, MAXIMUM_TIMEOUT_SECONDS) * 1000 }
  if (Buffer.byteLength(cmd) <= MAXIMUM_ARGUMENT_BYTES) return { argv: ['/bin/sh', '-c', cmd], ...rest }
  return { argv: ['/bin/sh', '-c', 'eval "$(cat)"'], stdin: cmd, ...rest }
}

async function finished(started: Started, spec: BoxSpec, backend_name: string): Promise<Omit<BoxExecutionResult, 'session_id'>> {
  const stdout = new ClippedOutput()
  const stderr = new ClippedOutput()
  const end = await started.finish(({ channel, bytes }) => (channel === 'stdout' ? stdout : stderr).add(bytes))
  checkEnd(end)
  const isTimedOut = end.status === 'timed_out'
  return {
    backend_name,
    status: isTimedOut ? 'timed_out' : 'completed',
    exit_code: isTimedOut ? null : exitCodeOf(end),
    stdout: stdout.text(),
    stderr: stderr.text() || (isTimedOut ? `Command timed out after ${spec.timeout_sec} seconds.` : ''),
    duration_ms: Math.round(end.durationMs ?? 0),
  }
}

/** Only what really ended has a result. */
function checkEnd({ status }: CommandEnd): void {
  if (status === 'cancelled') throw new BoxError('BoxSessionNotFoundError', 'the command was ended with its session or by somebody else')
  if (status === 'workspace_full')
    throw new BoxError('BoxValidationError', 'the command was stopped: the workspace is over its quota; remove files and try again')
  if (status !== 'completed' && status !== 'timed_out')
    throw new BoxError('BoxError', 'contact with the sandbox was lost; nobody knows how the command ended')
}
