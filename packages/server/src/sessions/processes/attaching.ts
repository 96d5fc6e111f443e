/**
 * Clients at a named process: several may read it and write to it at once, and leaving changes nothing for it.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Output is read from the log, so a client that is slow or gone holds up neither the process nor the others. What clients write goes to
 * the process whole and in turns.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { SessionView } from '@holdfast/protocol'
import { signalNumber } from '../../guest/signals.ts'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import { findProcess } from '../../store/tables/processes.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import type { Caller } from '../caller.ts'
import type { CommandEnd, RunningExecution } from '../executions/executions.ts'
import { executionEnded } from '../executions/live-input.ts'
import type { OutputLog, StoredOutput } from '../executions/output-log.ts'
import { checkAfter, checkAfterEnd, printedBy } from '../executions/printed.ts'
import { findRunning, inputOf, signalRunning } from '../interaction.ts'
import type { InteractionNeeds } from '../interaction.ts'
import { checkNotHeld } from '../lifecycle/refusals.ts'
import { viewOf } from '../running.ts'
import type { Running } from '../running.ts'

/** Clients at processes of one session. */
const MAXIMUM_ATTACHED = 64

export interface AttachedProcess {
  readonly executionId: string
  readonly session: SessionView
  /** Of a running one it can be followed. */
  readonly output: OutputLog | StoredOutput
  /** Rejects with `server_stopping` when this server lets go of it: it runs on. */
  readonly ended: Promise<CommandEnd>
  /** Resolves once the guest has it; a program that does not read makes it wait. `isLast`: no more follows, from nobody. */
  write(bytes: Uint8Array, isLast: boolean, signal: AbortSignal): Promise<void>
  /** By its name, to the program that was started. */
  signal(name: string): Promise<void>
  /** Twice is fine. */
  leave(): void
}

export interface AttachRequest {
  /** Which of that name; the newest without. */
  readonly execution?: string | undefined
  readonly after: number
}

export interface Attaching {
  /** Also to one that has ended, for what it printed last. Throws `invalid_request` when it has not printed `after` bytes yet. */
  attach(caller: Caller, sessionId: string, name: string, request: AttachRequest): Promise<AttachedProcess>
  /** How many clients are at it. */
  attachedTo(executionId: string): number
}

export interface AttachingNeeds extends InteractionNeeds {
  readonly running: Pick<Running, 'get' | 'output'>
}

interface Place {
  readonly sessionId: string
  clients: number
  /** The last one to write waits for all before. */
  writing: Promise<void>
}

export function createAttaching(needs: AttachingNeeds): Attaching {
  const { store, reads, running: commands, activity } = needs
  const places = new Map<string, Place>()

  function arrive(sessionId: string, id: string): { readonly place: Place; leave(): void } {
    const inSession = [...places.values()].reduce((sum, place) => sum + (place.sessionId === sessionId ? place.clients : 0), 0)
    if (inSession >= MAXIMUM_ATTACHED)
      throw new HoldfastError('quota_exceeded', `${MAXIMUM_ATTACHED} clients may be attached to processes of one session at a time`, {
        quota: 'attached_per_session',
        limit: MAXIMUM_ATTACHED,
      })
    const place = places.get(id) ?? { sessionId, clients: 0, writing: Promise.resolve() }
    places.set(id, place)
    place.clients += 1
    let isThere = true
    return {
      place,
      leave() {
        if (!isThere) return
        isThere = false
        place.clients -= 1
        if (place.clients === 0) places.delete(id)
      },
    }
  }

  async function find(caller: Caller, session: SessionRow, name: string, execution: string | undefined): Promise<ExecutionRow> {
    const row =
      execution === undefined
        ? await store.read((sql) => findProcess(sql, session, name))
        : await commands.get(caller, session.id, execution)
    if (row?.name === name) return row
    throw new HoldfastError('not_found', 'there is no process of this name in this session')
  }

  /** `null` when it has ended meanwhile. */
  async function stillRunning(session: SessionRow, id: string): Promise<RunningExecution | null> {
    return findRunning(needs, session, id).catch((error: unknown) => {
      if (isHoldfastError(error, 'execution_ended')) return null
      throw error
    })
  }

  function atRunning(session: SessionRow, running: RunningExecution): AttachedProcess {
    const { id } = running
    const { place, leave } = arrive(session.id, id)
    return {
      ...{ executionId: id, session: viewOf(session), output: running.log, ended: running.ended, leave },
      write(bytes, isLast, signal) {
        const written = place.writing.then(async () => {
          if (signal.aborted) return
          activity.note(running.session)
          await inputOf(running).write(bytes, isLast, signal)
        })
        // How it went is for whoever wrote it.
        place.writing = written.catch(() => undefined)
        return written
      },
      signal: (name) => signalRunning(running, signalNumber(name), 'main'),
    }
  }

  async function atEnded(caller: Caller, session: SessionRow, id: string, after: number): Promise<AttachedProcess> {
    const row = await commands.get(caller, session.id, id)
    const output = await commands.output(caller, session.id, id)
    checkAfterEnd(after, row, output)
    const refuse = () => Promise.reject(executionEnded())
    const { leave } = arrive(session.id, id)
    return { executionId: id, session: viewOf(session), output, ended: Promise.resolve(row), write: refuse, signal: refuse, leave }
  }

  return {
    attachedTo: (id) => places.get(id)?.clients ?? 0,
    async attach(caller, sessionId, name, { execution, after }) {
      const session = await reads.open(caller, 'exec', sessionId)
      checkNotHeld(session)
      const { id, status } = await find(caller, session, name, execution)
      const running = status === 'running' ? await stillRunning(session, id) : null
      if (running === null) return atEnded(caller, session, id, after)
      if (after > running.log.seq) checkAfter(after, await printedBy(running))
      return atRunning(session, running)
    },
  }
}
