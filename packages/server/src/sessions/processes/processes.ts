/**
 * Named processes of a session: long-lived executions that are found again by their name.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A name belongs to the newest execution that bears it. While one runs, its session does not idle out, and a restart follows it on. One
 * that is to be started again when it ends is, until somebody ends it or its session is over; each start is an execution of its own.
 */
import { HoldfastError, isHoldfastError, STDERR_TAIL_BYTES } from '@holdfast/protocol'
import type { RestartRules } from '@holdfast/protocol'
import type { Sealing } from '../../home/sealing.ts'
import type { Store, Transaction } from '../../store/store.ts'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import { dropRestart, endRestart, findRestart, keptRestarts, listRestarts, putRestart } from '../../store/tables/process-restarts.ts'
import type { RestartRow } from '../../store/tables/process-restarts.ts'
import { findProcess, listEndedProcesses, listProcesses } from '../../store/tables/processes.ts'
import type { EndedFilter } from '../../store/tables/processes.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import type { Caller } from '../caller.ts'
import type { Killed } from '../executions/cancelling.ts'
import type { Command } from '../executions/command.ts'
import type { Executions, OnChunk } from '../executions/executions.ts'
import { isLive } from '../lifecycle/state.ts'
import type { Running } from '../running.ts'
import type { SessionReads } from '../session-reads.ts'
import type { Attaching } from './attaching.ts'
import { complaintsIn, textTail } from './complaints.ts'
import type { OpenLines } from './process-lines.ts'
import { nextStartAt } from './restarting.ts'
import { sealCommand } from './sealed-command.ts'

/** Names that a list shows. */
export const MAX_LISTED = 1_000

export interface ProcessRequest {
  readonly name: string
  readonly command: Command
  readonly expectedIncarnation?: number | undefined
  /** Left out, it is started once. */
  readonly restart?: RestartRules | undefined
  /** Reads its output from the first byte on; a promise is back-pressure on it. */
  readonly onOutput?: OnChunk | undefined
}

/** Its `outputSeq` is what it has printed by now. */
export interface ProcessRow extends ExecutionRow {
  readonly name: string
  /** By which rules it is started again, and how often it was. */
  readonly restart: Pick<RestartRow, 'policy' | 'maxRestarts' | 'backoffMs' | 'restarts'> | null
  readonly nextStartAt: number | null
  /** Clients that are attached to it. */
  readonly attached: number
}

export interface Processes extends Pick<Attaching, 'attach'> {
  /** Throws `name_taken` while one of that name runs; one that waits to be started again is replaced. */
  start(caller: Caller, sessionId: string, request: ProcessRequest, signal: AbortSignal): Promise<ProcessRow>
  /** The newest of each name, newest first. */
  list(caller: Caller, sessionId: string, limit?: number): Promise<readonly ProcessRow[]>
  /** Over many sessions: the ids of those that ended by themselves, the last one first. */
  listEnded(caller: Caller, filter: EndedFilter, limit: number): Promise<readonly string[]>
  get(caller: Caller, sessionId: string, name: string): Promise<ProcessRow>
  /** The end of what it complained of, in whole characters; `null` when that is not this caller's to read, or not here. */
  stderrTail(caller: Caller, process: ProcessRow): Promise<string | null>
  /** Kills its whole tree, for good. One that has ended is left as it is, and is not started again. */
  stop(caller: Caller, sessionId: string, name: string, graceMs?: number): Promise<Killed>
  /** For a part of this server that talks to it by lines. */
  readonly openLines: OpenLines
}

export interface ProcessesNeeds {
  readonly store: Store
  readonly sealing: Sealing
  readonly reads: SessionReads
  readonly executions: Executions
  readonly running: Pick<Running, 'start' | 'get' | 'cancel' | 'output'>
  readonly attaching: Pick<Attaching, 'attach'>
  /** How many are at it, here and in other parts of this server. */
  readonly attachedTo: (executionId: string) => number
  readonly openLines: OpenLines
  /** In one session, that are to be started again. */
  readonly maxKept: number
}

export function createProcesses(needs: ProcessesNeeds): Processes {
  const { store, sealing, reads, executions, running, attaching, attachedTo, openLines, maxKept } = needs

  function asOfNow(row: ExecutionRow, restart: RestartRow | null, { state }: Pick<SessionRow, 'state'>): ProcessRow {
    return {
      ...row,
      name: row.name ?? '',
      outputSeq: executions.running(row.id)?.log.seq ?? row.outputSeq,
      restart,
      nextStartAt: isLive(state) ? nextStartAt(restart, row) : null,
      attached: attachedTo(row.id),
    }
  }

  async function find(caller: Caller, verb: 'read' | 'exec', sessionId: string, name: string): Promise<ProcessRow> {
    const session = await reads.open(caller, verb, sessionId)
    const found = await store.read(async (sql) => ({
      row: await findProcess(sql, session, name),
      restart: await findRestart(sql, session.id, name),
    }))
    if (found.row === null) throw new HoldfastError('not_found', 'there is no process of this name in this session')
    return asOfNow(found.row, found.restart, session)
  }

  /** What is to become of it is written down with its beginning. */
  async function keep(transaction: Transaction, sessionId: string, { name, command, restart }: ProcessRequest): Promise<void> {
    if (restart === undefined || restart.policy === 'no') return dropRestart(transaction, sessionId, name)
    const others = (await keptRestarts(transaction, sessionId)).filter((kept) => kept.name !== name)
    if (others.length >= maxKept)
      throw new HoldfastError('quota_exceeded', `${maxKept} processes of one session may be started again when they end`, {
        quota: 'executions_per_session',
        limit: maxKept,
      })
    const { policy, max_restarts: maxRestarts = null, backoff_ms: backoffMs } = restart
    const sealed = sealCommand(sealing, { sessionId, name }, command)
    await putRestart(transaction, { sessionId, name, policy, maxRestarts, backoffMs, restarts: 0, inARow: 0, command: sealed })
  }

  return {
    attach: (caller, sessionId, name, request) => attaching.attach(caller, sessionId, name, request),
    openLines,
    async start(caller, sessionId, request, signal) {
      const { name, command, expectedIncarnation, onOutput } = request
      const alongside = (transaction: Transaction) => keep(transaction, sessionId, request)
      const wish = { name, command, expectedIncarnation, onOutput, alongside }
      const { executionId } = await running.start(caller, { id: sessionId }, wish, signal)
      const row = await running.get(caller, sessionId, executionId)
      const restart = await store.read((sql) => findRestart(sql, sessionId, name))
      return asOfNow(row, restart, { state: 'active' })
    },
    async list(caller, sessionId, limit = MAX_LISTED) {
      const session = await reads.open(caller, 'read', sessionId)
      const found = await store.read(async (sql) => ({
        rows: await listProcesses(sql, session, limit),
        restarts: new Map((await listRestarts(sql, session.id)).map((restart) => [restart.name, restart])),
      }))
      return found.rows.map((row) => asOfNow(row, found.restarts.get(row.name ?? '') ?? null, session))
    },
    listEnded: (caller, filter, limit) => store.read((sql) => listEndedProcesses(sql, caller.visibility, filter, limit)),
    get: (caller, sessionId, name) => find(caller, 'read', sessionId, name),
    async stderrTail(caller, { sessionId, id, outputSeq }) {
      // Asked for here, and not refused below: whoever may look at a process need not be one who may read it.
      if (!caller.may('read-output', await reads.open(caller, 'read', sessionId))) return null
      try {
        return textTail(await complaintsIn(await running.output(caller, sessionId, id), outputSeq), STDERR_TAIL_BYTES)
      } catch (error) {
        if (isHoldfastError(error, 'session_elsewhere')) return null
        throw error
      }
    },
    async stop(caller, sessionId, name, graceMs) {
      const { restart } = await find(caller, 'exec', sessionId, name)
      // In the store before anything is killed, so that a start which is under way is either called off or found below.
      if (restart !== null) await store.write((transaction) => endRestart(transaction, sessionId, name))
      const { id } = await find(caller, 'exec', sessionId, name)
      return running.cancel(caller, sessionId, id, graceMs)
    },
  }
}
