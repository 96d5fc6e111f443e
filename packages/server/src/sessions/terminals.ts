/**
 * Terminals of a session: an execution that somebody sits at, types into and reads, and may come back to.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A terminal is an execution like any other: recorded, counted, cancelled with the work of its session, followed on after a restart. Its
 * output is read from its log, so a client that is slow or gone never holds the program up.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { SessionView } from '@holdfast/protocol'
import type { TerminalSize } from '../guest/inside.ts'
import { signalNumber } from '../guest/signals.ts'
import { inputOf as storedInput, isAttended } from '../store/tables/execution-input.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { AbandonedExecutions, Attendant } from './abandoned-executions.ts'
import type { Activity } from './activity.ts'
import type { Caller } from './caller.ts'
import type { Executions, RunningExecution } from './executions/executions.ts'
import { executionEnded } from './executions/live-input.ts'
import type { CommandEnd } from './executions/executions.ts'
import type { OutputLog, StoredOutput } from './executions/output-log.ts'
import { checkAfter, checkAfterEnd, printedBy } from './executions/printed.ts'
import { findRunning, inputOf, signalRunning } from './interaction.ts'
import type { InteractionNeeds } from './interaction.ts'
import { checkNotHeld } from './lifecycle/refusals.ts'
import { viewOf } from './running.ts'
import type { Running } from './running.ts'
import type { SessionReads } from './session-reads.ts'

/** Bash where there is one. */
const LOGIN_SHELL = 'if command -v bash >/dev/null 2>&1; then exec bash -l; fi; exec /bin/sh -l'

export interface TerminalRequest {
  readonly size: TerminalSize
  /** Run by `/bin/sh`; a login shell if there is none. */
  readonly command?: string | undefined
  readonly cwd?: string | undefined
}

export interface Terminal extends Attendant {
  /** The client never came: whether it is waited for is as it was before. */
  withdraw(): Promise<void>
  readonly executionId: string
  readonly session: SessionView
  /** Of a running one it can be followed. */
  readonly output: OutputLog | StoredOutput
  /** Rejects with `server_stopping` when this server lets go of it: it runs on. */
  readonly ended: Promise<CommandEnd>
  /** Resolves once the guest has it; a program that does not read makes it wait. */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>
  resize(size: TerminalSize, signal: AbortSignal): Promise<void>
  /** By its name, to the program that was started. */
  signal(name: string): Promise<void>
}

export interface Terminals {
  open(caller: Caller, sessionId: string, request: TerminalRequest, signal: AbortSignal): Promise<Terminal>
  /**
   * Also to one that has ended, for what it printed last. Throws `not_interactive` for what is no terminal, and `invalid_request` when it
   * has not printed `after` bytes yet.
   */
  attach(caller: Caller, sessionId: string, executionId: string, after: number): Promise<Terminal>
}

export interface TerminalsNeeds extends InteractionNeeds {
  readonly reads: SessionReads
  readonly running: Pick<Running, 'start' | 'output' | 'get'>
  readonly executions: Executions
  readonly abandoned: AbandonedExecutions
  readonly activity: Pick<Activity, 'note'>
}

export function createTerminals(needs: TerminalsNeeds): Terminals {
  const { store, reads, running: commands, executions, abandoned, activity } = needs

  function atRunning(session: SessionView, running: RunningExecution, { leave }: Attendant, before: 'detached' | 'gone'): Terminal {
    const { id } = running
    running.ended.then(
      () => abandoned.ended(id),
      // It runs on, and the next start waits for its client.
      () => undefined,
    )
    return {
      ...{ executionId: id, session, output: running.log, ended: running.ended, leave, withdraw: () => leave(before) },
      async write(bytes, signal) {
        activity.note(running.session)
        await inputOf(running).write(bytes, false, signal)
      },
      resize: (size, signal) => inputOf(running).resize(size, signal),
      signal: (name) => signalRunning(running, signalNumber(name), 'main'),
    }
  }

  async function atEnded(caller: Caller, session: SessionView, id: string, after: number): Promise<Terminal> {
    const row = await commands.get(caller, session.id, id)
    const output = await commands.output(caller, session.id, id)
    checkAfterEnd(after, row, output)
    const attendant = abandoned.look({ id: row.sessionId, tenantId: row.tenantId }, id)
    const leave = () => attendant.leave('gone')
    const refuse = () => Promise.reject(executionEnded())
    return {
      ...{ executionId: id, session, output, ended: Promise.resolve(row), leave, withdraw: leave },
      ...{ write: refuse, resize: refuse, signal: refuse },
    }
  }

  return {
    async open(caller, sessionId, { size, command = LOGIN_SHELL, cwd }, signal) {
      abandoned.checkRoom(sessionId)
      const request = { command: { argv: ['/bin/sh', '-c', command], cwd, terminal: size }, isAttended: true }
      const { executionId, session } = await commands.start(caller, { id: sessionId }, request, signal)
      const running = executions.running(executionId)
      // Its end is in the store before it is let go here.
      if (running === undefined) return atEnded(caller, session, executionId, 0)
      return atRunning(session, running, abandoned.arrive(running.session, executionId), 'gone')
    },
    async attach(caller, sessionId, id, after) {
      const session = await reads.open(caller, 'exec', sessionId)
      checkNotHeld(session)
      const view = viewOf(session)
      const row = await commands.get(caller, sessionId, id)
      const known = await store.read(async (sql) => ({ input: await storedInput(sql, id), isAttended: await isAttended(sql, id) }))
      if (known.input !== 'terminal') throw new HoldfastError('not_interactive', 'this execution has no terminal')
      const running = row.status === 'running' ? await stillRunning(session, id) : null
      abandoned.checkRoom(sessionId)
      if (running === null) return atEnded(caller, view, id, after)
      if (after > running.log.seq) checkAfter(after, await printedBy(running))
      return atRunning(view, running, await abandoned.comeBack(session, id), known.isAttended ? 'gone' : 'detached')
    },
  }

  /** `null` when it has ended meanwhile. */
  async function stillRunning(session: SessionRow, id: string): Promise<RunningExecution | null> {
    return findRunning(needs, session, id).catch((error: unknown) => {
      if (isHoldfastError(error, 'execution_ended')) return null
      throw error
    })
  }
}
