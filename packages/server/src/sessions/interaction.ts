/**
 * What a caller does to an execution while it runs: more input, a signal, another size of its terminal.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { TerminalSize } from '../guest/inside.ts'
import { signalNumber } from '../guest/signals.ts'
import type { Store } from '../store/store.ts'
import { findExecution } from '../store/tables/executions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { Activity } from './activity.ts'
import type { Caller } from './caller.ts'
import type { Executions, RunningExecution } from './executions/executions.ts'
import { executionEnded } from './executions/live-input.ts'
import type { LiveInput } from './executions/live-input.ts'
import { checkNotHeld } from './lifecycle/refusals.ts'
import type { ServerLease } from './server-lease.ts'
import type { SessionReads } from './session-reads.ts'

export interface MoreInput {
  readonly bytes: Uint8Array
  /** No more follows. */
  readonly isLast: boolean
}

export interface Interaction {
  /** Resolves once the guest has it all. A program that does not read makes it wait. */
  input(caller: Caller, sessionId: string, executionId: string, input: MoreInput, signal: AbortSignal): Promise<void>
  /** By its name, to the program itself or to all that it started. */
  signal(caller: Caller, sessionId: string, executionId: string, name: string, scope: 'main' | 'tree'): Promise<void>
  resize(caller: Caller, sessionId: string, executionId: string, size: TerminalSize, signal: AbortSignal): Promise<void>
}

export interface InteractionNeeds {
  readonly store: Store
  readonly reads: SessionReads
  readonly executions: Executions
  readonly lease: ServerLease
  readonly activity: Pick<Activity, 'note'>
}

export function createInteraction({ store, reads, executions, lease, activity }: InteractionNeeds): Interaction {
  async function runningOf(caller: Caller, sessionId: string, id: string) {
    const session = await reads.open(caller, 'exec', sessionId)
    return { session, running: await findRunning({ store, executions, lease }, session, id) }
  }

  return {
    async input(caller, sessionId, id, { bytes, isLast }, signal) {
      const { session, running } = await runningOf(caller, sessionId, id)
      checkNotHeld(session)
      const input = inputOf(running)
      activity.note(session)
      await input.write(bytes, isLast, signal)
    },
    async signal(caller, sessionId, id, name, scope) {
      const number = signalNumber(name)
      const { running } = await runningOf(caller, sessionId, id)
      await signalRunning(running, number, scope)
    },
    async resize(caller, sessionId, id, size, signal) {
      const { running } = await runningOf(caller, sessionId, id)
      await inputOf(running).resize(size, signal)
    },
  }
}

/** Throws `execution_ended`, `session_elsewhere`, or `not_found`. */
export async function findRunning(
  { store, executions, lease }: Pick<InteractionNeeds, 'store' | 'executions' | 'lease'>,
  session: SessionRow,
  id: string,
): Promise<RunningExecution> {
  const running = await executions.runningOnceStarted(id)
  if (running?.session.id === session.id) return running
  // Its end is in the store before it is let go here.
  const row = await store.read((sql) => findExecution(sql, session.tenantId, session.id, id))
  if (row === null) throw new HoldfastError('not_found', 'there is no such execution in this session')
  if (row.status !== 'running') throw executionEnded()
  await lease.claimOn(session)
  throw new HoldfastError('session_unavailable', 'the sandbox of this execution does not answer at the moment')
}

/** Throws `not_interactive`. */
export function inputOf({ input }: RunningExecution): LiveInput {
  if (input === null) throw new HoldfastError('not_interactive', 'this execution takes no input: it was started without')
  return input
}

export async function signalRunning({ id, live }: RunningExecution, number: number, scope: 'main' | 'tree'): Promise<void> {
  const { processes } = await live.connected()
  await processes.signal({ tag: id }, number, scope).catch((error: unknown) => {
    throw isHoldfastError(error, 'process_unknown') ? executionEnded(error) : error
  })
}
