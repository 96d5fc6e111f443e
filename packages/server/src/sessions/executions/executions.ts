/**
 * Executions: written down before they start, followed to a true end, cancelled whole, found again after a restart.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The row is committed before the program starts. The answer to a caller may precede the commit of the end, never replace it: the end is
 * written until the store takes it, and after `kill -9` the next start has it from the guest, which knows an execution by its id (its tag)
 * and forgets it only after its end is stored. No command is ever run twice. Why: docs/adr/0026-ends-are-always-stored.md
 */
import { setImmediate } from 'node:timers/promises'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ExecutionCause, ExecutionStatus } from '@holdfast/protocol'
import type { Execution } from '../../guest/inside.ts'
import type { Sealing } from '../../home/sealing.ts'
import { randomId } from '../../home/random-id.ts'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import type { Store, Transaction } from '../../store/store.ts'
import {
  addOutputOfEnded,
  endExecution,
  findExecution,
  insertExecution,
  isInputPending,
  notePendingInput,
  noteWholeInput,
  withdrawExecution,
} from '../../store/tables/executions.ts'
import type { ExecutionEnd, ExecutionKind, ExecutionRow } from '../../store/tables/executions.ts'
import { inputOf, noteInput, waitsForReader } from '../../store/tables/execution-input.ts'
import type { AttendedBy, InputKind } from '../../store/tables/execution-input.ts'
import { findSession } from '../../store/tables/sessions.ts'
import type { SessionRef, SessionRow } from '../../store/tables/sessions.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import { SYSTEM } from '../caller.ts'
import type { Actor } from '../caller.ts'
import type { Changes } from '../change.ts'
import { createLoan } from '../credentials/loan.ts'
import type { Loan } from '../credentials/loan.ts'
import { unchanged } from '../lifecycle/step.ts'
import { isDraining } from '../lifecycle/closing.ts'
import { beginWork, endWork } from '../lifecycle/work.ts'
import type { StoreRetries } from '../until-stored.ts'
import { privateTmpOf } from '../habitats.ts'
import { causeOf, evidenceOf, workspaceCause } from './execution-cause.ts'
import type { CauseEvidence } from './execution-cause.ts'
import { execRequest, inputKindOf } from './command.ts'
import type { Command, Inhabitant } from './command.ts'
import { followExecution, forgetExecution } from './follow-execution.ts'
import type { FollowedEnd } from './follow-execution.ts'
import { LaterReader } from './later-reader.ts'
import type { OnChunk } from './later-reader.ts'
import { executionEnded, LiveInput } from './live-input.ts'
import { outputFileBytes } from './output-files.ts'
import { ReaderHold } from './reader-hold.ts'
import { createOutputLog, keptSeqOf, reopenOutputLog } from './output-log.ts'
import type { OutputLog } from './output-log.ts'
import { startWatchdog } from './watchdog.ts'
import type { Watchdog } from './watchdog.ts'

export type { OnChunk } from './later-reader.ts'

/** How a command ended, as it is stored. */
export interface CommandEnd extends Pick<ExecutionEnd, 'exitCode' | 'signal' | 'status' | 'durationMs' | 'cause'> {
  /** Bytes of its output that its reader did not get, because contact with the sandbox or with the server broke. */
  readonly skippedBytes?: number
}

/** An execution that runs, as this server follows it. */
export interface RunningExecution {
  readonly id: string
  readonly session: SessionRef
  readonly live: LiveSandbox
  readonly log: OutputLog
  /** `null`: it takes none after its start. */
  readonly input: LiveInput | null
  /** Of a named process: who reads it now, and may hold it up. */
  readonly reader: LaterReader | null
  /** Makes it wait for who reads its output; `null`: it does not. */
  readonly hold: ReaderHold | null
  /** How it ended, as soon as that is certain. Where only the store knows, as for a killed one, rejects when its first write fails. */
  readonly finished: Promise<CommandEnd>
  /** The stored end, however long the store takes. Rejects with `server_stopping` when this server lets go of it: it runs on. */
  readonly ended: Promise<ExecutionEnd>
}

export interface StartRequest {
  readonly command: Command
  readonly kind: ExecutionKind
  readonly name: string | null
  readonly actor: Actor
  readonly inhabitant: Inhabitant | null
  readonly expectedIncarnation: number | undefined
  /** Who it does not run on for long without; left out, nobody. */
  readonly attendedBy?: AttendedBy | undefined
  /** Its id, where the caller has to find it again after a crash; left out, a new one. */
  readonly id?: string | undefined
  /** Written in the transaction that writes its row; what it throws keeps it from being started. */
  readonly alongside?: ((transaction: Transaction) => Promise<void>) | undefined
}

/** Started and not yet read: `follow` must be called, once. */
export interface StartedExecution {
  readonly id: string
  /** The session's row with which it started. */
  readonly session: SessionRow
  readonly timeoutMs: number | null
  /** Reads to the end; a slow `onChunk` is back-pressure on the program. The answer is the stored end. */
  follow(onChunk?: OnChunk): RunningExecution
}

export interface Executions {
  start(session: SessionRow, live: LiveSandbox, request: StartRequest): Promise<StartedExecution>
  /** Goes on with one that no process follows: an earlier server stopped, or the answer to its start was lost. */
  recover(row: ExecutionRow, live: LiveSandbox): Promise<void>
  /** Stores that one is lost, because its sandbox is gone; what of its output is on disk stays readable. */
  recordLost(row: ExecutionRow): Promise<void>
  running(id: string): RunningExecution | undefined
  /** The same, but waits for one that is between its row and its program. */
  runningOnceStarted(id: string): Promise<RunningExecution | undefined>
  /** Whether this server works on it: from before its row until its end is stored. */
  isOwned(id: string): boolean
  /** Should one of these be killed, this is what its end is called. */
  nameEnd(ids: readonly string[], status: ExecutionStatus): void
  /** Resolves when none of these is between its row and its program: from then on the guest knows each by its tag, or never will. */
  started(ids: readonly string[]): Promise<void>
}

export interface ExecutionsNeeds {
  readonly store: Store
  readonly changes: Changes
  readonly retries: StoreRetries
  readonly log: Log
  readonly clock: () => number
  readonly maxRunning: number
  /** Opens the credentials of sessions. */
  readonly sealing: Sealing
  /** Where long outputs are kept; exists. */
  readonly outputDirectory: string
  /** So many bytes more were printed. */
  readonly onOutput?: (bytes: number) => void
  /** The record of an ended execution is kept, with so many bytes of output. */
  readonly onKept?: (tenantId: string, outputBytes: number, endedAt: number) => void
}

/** More than a server ends within the second that PostgreSQL may lose; each has at most 8 KB of output. */
const MOST_RECENT_ENDS = 1_000

export function createExecutions(needs: ExecutionsNeeds): Executions {
  const { store: database, changes, retries, log, clock, maxRunning, sealing, outputDirectory } = needs
  const table = new Map<string, RunningExecution>()
  const owned = new Set<string>()
  const starting = new Map<string, Promise<unknown>>()
  const namedEnds = new Map<string, ExecutionStatus>()
  /** Stored a moment ago, oldest first: a PostgreSQL that crashes may lose its last commits, and the guest has forgotten these. */
  const recentEnds = new Map<string, Omit<ExecutionEnd, 'endedAt'>>()

  function remember(id: string, end: Omit<ExecutionEnd, 'endedAt'>): void {
    recentEnds.set(id, end)
    if (recentEnds.size > MOST_RECENT_ENDS) for (const oldest of recentEnds.keys().take(1)) recentEnds.delete(oldest)
  }

  function outputNeeds(id: string, startTime: number) {
    const onTrouble = (error: Error) => log.warn('output-not-kept', { execution: id, error: errorText(error) })
    return { directory: outputDirectory, id, startTime, clock, onTrouble }
  }

  /** The row exists before the program does. */
  async function begin(session: SessionRow, id: string, request: StartRequest, loan: Loan): Promise<SessionRow> {
    const { actor, kind, name, command, expectedIncarnation } = request
    const context = { actor, action: 'execution.start', executionId: id, durability: 'process' } as const
    return changes.change(session, context, async (row, transaction, now) => {
      const work = beginWork(row, { maxRunning, expectedIncarnation }, now)
      const { sandboxId } = row
      if (sandboxId === null || sandboxId !== session.sandboxId)
        throw new HoldfastError('session_unavailable', 'the session has just been given another sandbox')
      const execution: ExecutionRow = {
        id,
        sessionId: row.id,
        tenantId: row.tenantId,
        sandboxId,
        incarnation: row.incarnation,
        kind,
        name,
        actor: actor.subject,
        timeoutMs: command.timeoutMs ?? null,
        status: 'running',
        exitCode: null,
        signal: null,
        cancelAt: null,
        startedAt: now,
        endedAt: null,
        durationMs: null,
        outputSeq: 0,
      }
      if (!(await insertExecution(transaction, execution, request.attendedBy)))
        throw new HoldfastError('name_taken', `a process named ${name} runs in this session`, { name })
      if (command.stdin !== undefined) await notePendingInput(transaction, id)
      const input = inputKindOf(command)
      if (input !== 'none') await noteInput(transaction, id, input)
      await loan.record(transaction, row, id)
      await request.alongside?.(transaction)
      const data = { execution_id: id, ...(name === null ? {} : { name }) }
      return { ...work, events: [...work.events, { type: `${eventNoun(kind)}.started`, data }] }
    })
  }

  /** A row whose commit was kept although its answer was lost must not stay: nothing was started for it. */
  async function recorded(session: SessionRow, id: string, request: StartRequest, loan: Loan): Promise<SessionRow> {
    try {
      return await begin(session, id, request, loan)
    } catch (error) {
      if (isHoldfastError(error) && error.details['isOutcomeKnown'] === false) await storeNotStarted(session, id, request.kind)
      else owned.delete(id)
      throw error
    }
  }

  /**
   * The program itself. One that could not be started has its end at once. When contact is lost before the guest was sent anything, the
   * command has not started: its record is withdrawn, and `session_unavailable` lets the caller try the next sandbox. Once sent it may have
   * started, and is never sent again: the guest is asked by its tag, and what it does not know is lost.
   */
  async function launch(
    begun: SessionRow,
    id: string,
    live: LiveSandbox,
    { command, kind, inhabitant }: StartRequest,
    loan: Loan,
  ): Promise<Execution | { readonly tag: string }> {
    let isSent = false
    try {
      const lent = await loan.deliver(await live.connected(), begun.id, inhabitant)
      // What the request itself sets goes before a credential of the same name.
      const complete = lent === null ? command : { ...command, env: { ...lent, ...command.env } }
      // Again, because the connection may have broken during the delivery: this one is open, and nothing is awaited before it is used.
      const inside = await live.connected()
      isSent = true
      return await inside.exec(execRequest(complete, id, inhabitant, privateTmpOf(begun)))
    } catch (error) {
      if (isContactLost(error)) {
        if (isSent) return { tag: id }
        await withdraw(begun, id, live, kind)
        throw new HoldfastError('session_unavailable', 'the sandbox was lost before the command was sent to it', {}, { cause: error })
      }
      await storeNotStarted(begun, id, kind)
      throw error
    }
  }

  /** The record of a command that was never sent goes, so that it can be started under the same id. */
  async function withdraw(ref: SessionRef, id: string, live: LiveSandbox, kind: ExecutionKind): Promise<void> {
    const context = { actor: SYSTEM, action: 'execution.withdraw', executionId: id, durability: 'process' } as const
    try {
      await changes.change(ref, context, async (row, transaction, now) => {
        const status = await withdrawExecution(transaction, id, live.name)
        if (status !== 'running') return unchanged(row)
        const data = { execution_id: id, status: NOT_STARTED.status }
        return { ...endWork(row, null, now), events: [{ type: `${eventNoun(kind)}.ended`, data }] }
      })
      owned.delete(id)
    } catch (error) {
      await storeNotStarted(ref, id, kind)
      throw error
    }
  }

  /** Waits for the first attempt only: the caller has an answer already. */
  async function storeNotStarted(ref: SessionRef, id: string, kind: ExecutionKind): Promise<void> {
    const first = Promise.withResolvers<unknown>()
    const write = () => {
      const attempt = store(ref, id, kind, { ...NOT_STARTED, output: null }, null)
      attempt.then(first.resolve, first.resolve)
      return attempt
    }
    retries
      .untilStored('execution-end', { execution: id }, write)
      .catch((error: unknown) => log.error('execution-not-recorded', { execution: id, error: errorText(error) }))
      .finally(() => owned.delete(id))
    await first.promise
  }

  async function store(
    ref: SessionRef,
    id: string,
    kind: ExecutionKind,
    end: Omit<ExecutionEnd, 'endedAt'> & { readonly isKilled?: boolean },
    notice: string | null,
  ): Promise<ExecutionEnd> {
    let stored: ExecutionEnd = { ...end, endedAt: clock() }
    const context = { actor: SYSTEM, action: 'execution.end', executionId: id, durability: 'process' } as const
    await changes.change(ref, context, async (row, transaction, now) => {
      // What the closing of its session took away was not lost by accident.
      const isTaken = row.state === 'closing' && !isDraining(row, now)
      const known = end.status === 'lost' && isTaken ? 'cancelled' : end.status
      const killedAs = namedEnds.get(id) ?? 'cancelled'
      const cause = end.isKilled === true && killedAs === 'workspace_full' ? workspaceCause(row) : (end.cause ?? null)
      const status = await endExecution(transaction, id, { ...end, status: known, cause, killedAs, endedAt: now })
      if (status === null) {
        await addOutputOfEnded(transaction, id, end)
        const earlier = await findExecution(transaction, ref.tenantId, ref.id, id)
        if (earlier !== null) stored = { ...end, ...earlier, endedAt: earlier.endedAt ?? now }
        return unchanged(row)
      }
      stored = { ...end, status, cause, endedAt: now }
      transaction.afterCommit(() => remember(id, { ...end, status, cause }))
      const { exitCode, signal, durationMs } = end
      const data = { execution_id: id, status, exit_code: exitCode, signal, duration_ms: durationMs, ...(cause === null ? {} : { cause }) }
      return { ...endWork(row, notice, now), events: [{ type: `${eventNoun(kind)}.ended`, data }] }
    })
    const { output, endedAt } = stored
    if (output !== null) needs.onKept?.(ref.tenantId, output.length, endedAt)
    else void outputFileBytes({ directory: outputDirectory, id }).then((bytes) => needs.onKept?.(ref.tenantId, bytes, endedAt))
    return stored
  }

  /** Should this be lost in a crash, the program is killed rather than left with half its input. */
  function noteWhole(id: string): void {
    retries
      .untilStored('execution-input', { execution: id }, () => database.write((transaction) => noteWholeInput(transaction, id), 'process'))
      .catch((error: unknown) => log.warn('input-not-noted', { execution: id, error: errorText(error) }))
  }

  /** From its start or its recovery until its end is in the store. */
  function attend(
    ref: SessionRef,
    known: Pick<ExecutionRow, 'id' | 'kind'>,
    live: LiveSandbox,
    output: OutputLog,
    execution: Execution | { readonly tag: string },
    more: {
      readonly input: InputKind
      readonly stdin?: string | undefined
      readonly isInputTorn?: boolean
      readonly onChunk?: OnChunk | undefined
      readonly watchdog: Watchdog | null
      readonly notice: string | null
      readonly evidence: CauseEvidence | null
      readonly isHeld: boolean
    },
  ): RunningExecution {
    const { id, kind } = known
    const input = more.input === 'none' ? null : new LiveInput({ live, kind: more.input, onClosed: () => noteClosed(id) })
    const hold = more.isHeld ? new ReaderHold(output.seq) : null
    const reader = hold !== null ? new LaterReader((chunk) => hold.take(chunk)) : kind === 'process' ? new LaterReader(more.onChunk) : null
    const finished = Promise.withResolvers<CommandEnd>()
    const told = finished.promise
    const running: RunningExecution = { id, session: ref, live, log: output, input, reader, hold, finished: told, ended: settle() }
    table.set(id, running)
    // A reader who does not ask for the end must not make its failure an unhandled one.
    running.ended.then(finished.resolve, finished.reject)
    running.finished.catch(() => undefined)
    return running

    async function settle(): Promise<ExecutionEnd> {
      try {
        const followed = await followExecution({
          live,
          execution,
          log: output,
          stdin: more.stdin,
          onInputWhole: () => noteWhole(id),
          onReading: (reading) => input?.attach(reading),
          isInputTorn: more.isInputTorn,
          onChunk: reader === null ? more.onChunk : (chunk) => reader.take(chunk),
          onOutput: needs.onOutput,
          watchdog: more.watchdog,
        })
        const { evidence } = more
        const cause = followed.outcome === 'ended' && evidence !== null ? await causeOf(followed, live, evidence) : null
        const first = storeEnd(followed, cause)
        if (isCertain(followed)) {
          // Only the first attempt: a reader must not wait for a store that is down.
          database.promise(first)
          finished.resolve({ ...endOf(followed), cause, skippedBytes: followed.skippedBytes })
        } else first.catch(finished.reject)
        let attempt: Promise<ExecutionEnd> | null = first
        const stored = await retries.untilStored('execution-end', { execution: id }, () => {
          const write = attempt ?? storeEnd(followed, cause)
          attempt = null
          return write
        })
        if (followed.outcome === 'ended') forgetExecution(live, followed)
        return stored
      } catch (error) {
        if (isHoldfastError(error, 'server_stopping')) input?.end(error)
        else log.error('execution-not-recorded', { execution: id, error: errorText(error) })
        throw error
      } finally {
        input?.end(executionEnded())
        table.delete(id)
        owned.delete(id)
        namedEnds.delete(id)
      }
    }

    /** One attempt; may be repeated. */
    async function storeEnd(followed: FollowedEnd, cause: ExecutionCause | null): Promise<ExecutionEnd> {
      const blob = await output.close()
      if (followed.outcome === 'left')
        throw new HoldfastError('server_stopping', 'the server has let go of this execution, which runs on', { execution_id: id })
      const end = await store(ref, id, kind, { ...endOf(followed), cause, output: blob }, more.notice)
      // Files that stay are removed with the record.
      if (blob !== null)
        await output.remove().catch((error: unknown) => log.warn('output-not-removed', { execution: id, error: errorText(error) }))
      return end
    }
  }

  /** Lost in a crash, later input goes nowhere, as it does in a pipe that nobody reads. */
  async function noteClosed(id: string): Promise<void> {
    await database.write((transaction) => noteInput(transaction, id, 'closed'), 'process')
  }

  return {
    running: (id) => table.get(id),
    isOwned: (id) => owned.has(id),
    nameEnd(ids, status) {
      for (const id of ids) if (table.has(id)) namedEnds.set(id, status)
    },
    async runningOnceStarted(id) {
      const isStarting = starting.get(id)
      if (isStarting === undefined) return table.get(id)
      await isStarting
      // The caller who started it follows it in this turn of the event loop.
      await setImmediate()
      return table.get(id)
    },
    async started(ids) {
      await Promise.all(ids.map(async (id) => starting.get(id)))
    },
    async start(session, live, request) {
      const { command, kind } = request
      const { id = randomId('exe') } = request
      const settled = Promise.withResolvers<void>()
      starting.set(id, settled.promise)
      owned.add(id)
      let watchdog: Watchdog | null = null
      const evidence = evidenceOf(session, live, command.timeoutMs ?? null)
      const loan = createLoan(sealing)
      const starts = async () => {
        try {
          const begun = await recorded(session, id, request, loan)
          watchdog = watchdogFor(live, command.timeoutMs ?? null)
          return { begun, execution: await launch(begun, id, live, request, loan) }
        } catch (error) {
          watchdog?.stop()
          throw error
        } finally {
          starting.delete(id)
          settled.resolve()
        }
      }
      const { begun, execution } = await starts()
      return {
        id,
        session: begun,
        timeoutMs: command.timeoutMs ?? null,
        follow(onChunk) {
          const output = createOutputLog(outputNeeds(id, clock()))
          const more = {
            input: inputKindOf(command),
            stdin: command.stdin,
            onChunk,
            watchdog,
            notice: begun.notice,
            evidence,
            isHeld: request.attendedBy === 'reader',
          }
          return attend(begun, { id, kind }, live, output, execution, more)
        },
      }
    },
    async recover(row, live) {
      if (owned.has(row.id)) return
      owned.add(row.id)
      try {
        const known = recentEnds.get(row.id)
        if (known !== undefined) {
          await store(refOf(row), row.id, row.kind, known, null)
          owned.delete(row.id)
          return
        }
        const output = await reopenOutputLog(outputNeeds(row.id, row.startedAt))
        const more = await database.read(async (sql) => ({
          isInputTorn: await isInputPending(sql, row.id),
          input: await inputOf(sql, row.id),
          isHeld: await waitsForReader(sql, row.id),
          session: await findSession(sql, { tenantId: row.tenantId, owner: null, groups: [] }, row.sessionId),
        }))
        const evidence = more.session === null ? null : evidenceOf(more.session, live, row.timeoutMs)
        const watchdog = watchdogFor(live, row.timeoutMs)
        attend(refOf(row), row, live, output, { tag: row.id }, { ...more, watchdog, notice: null, evidence })
      } catch (error) {
        owned.delete(row.id)
        throw error
      }
    },
    async recordLost(row) {
      const outputSeq = Math.max(row.outputSeq, await keptSeqOf({ directory: outputDirectory, id: row.id }))
      await store(refOf(row), row.id, row.kind, { ...LOST, outputSeq, output: null }, null)
    },
  }
}

function watchdogFor(live: LiveSandbox, timeoutMs: number | null): Watchdog | null {
  return timeoutMs === null ? null : startWatchdog(live, timeoutMs)
}

function refOf({ sessionId, tenantId }: ExecutionRow): SessionRef {
  return { id: sessionId, tenantId }
}

const LOST = { status: 'lost', exitCode: null, signal: null, durationMs: null } as const
const NOT_STARTED = { status: 'not_started', exitCode: null, signal: null, durationMs: null, outputSeq: 0 } as const

function endOf(
  followed: Exclude<FollowedEnd, { outcome: 'left' }>,
): Omit<ExecutionEnd, 'endedAt' | 'output'> & { readonly isKilled?: boolean } {
  const { outputSeq } = followed
  if (followed.outcome === 'lost') return { ...LOST, outputSeq }
  const { exitCode, signal, timedOut, killed, durationMs } = followed
  const status = timedOut ? 'timed_out' : 'completed'
  return { status, isKilled: killed && !timedOut, exitCode, signal, durationMs: Math.round(durationMs), outputSeq }
}

/**
 * One that came to its own end did, whatever else is going on; so its caller need not wait for the store. Should the server die before
 * it is written, the guest still knows it, and the next start writes it.
 */
function isCertain(followed: FollowedEnd): followed is Extract<FollowedEnd, { outcome: 'ended' }> {
  return followed.outcome === 'ended' && !followed.killed && !followed.timedOut
}

function eventNoun(kind: ExecutionKind): 'execution' | 'process' {
  return kind === 'process' ? 'process' : 'execution'
}

function isContactLost(error: unknown): boolean {
  return (
    isHoldfastError(error, 'guest_unreachable') ||
    isHoldfastError(error, 'guest_protocol_violated') ||
    isHoldfastError(error, 'sandbox_gone')
  )
}
