/**
 * Named processes of a session: long-lived executions that are found again by their name.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A name belongs to the newest execution that bears it. While one runs, its session does not idle out, and a restart follows it on.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Store } from '../store/store.ts'
import type { ExecutionRow } from '../store/tables/executions.ts'
import { findProcess, listEndedProcesses, listProcesses } from '../store/tables/processes.ts'
import type { EndedFilter } from '../store/tables/processes.ts'
import type { Caller } from './caller.ts'
import type { Killed } from './executions/cancelling.ts'
import type { Command } from './executions/command.ts'
import type { Executions, OnChunk } from './executions/executions.ts'
import type { Running } from './running.ts'
import type { SessionReads } from './session-reads.ts'

/** Names that a list shows. */
const MAX_LISTED = 1_000

export interface ProcessRequest {
  readonly name: string
  readonly command: Command
  readonly expectedIncarnation?: number | undefined
  /** Reads its output from the first byte on; a promise is back-pressure on it. */
  readonly onOutput?: OnChunk | undefined
}

/** Its `outputSeq` is what it has printed by now. */
export type ProcessRow = ExecutionRow & { readonly name: string }

export interface Processes {
  /** Throws `name_taken` while one of that name runs. */
  start(caller: Caller, sessionId: string, request: ProcessRequest, signal: AbortSignal): Promise<ProcessRow>
  /** The newest of each name, newest first. */
  list(caller: Caller, sessionId: string): Promise<readonly ProcessRow[]>
  /** Over many sessions: the ids of those that ended by themselves, the last one first. */
  listEnded(caller: Caller, filter: EndedFilter, limit: number): Promise<readonly string[]>
  get(caller: Caller, sessionId: string, name: string): Promise<ProcessRow>
  /** Kills its whole tree. One that has ended is left as it is. */
  stop(caller: Caller, sessionId: string, name: string, graceMs?: number): Promise<Killed>
}

export interface ProcessesNeeds {
  readonly store: Store
  readonly reads: SessionReads
  readonly executions: Executions
  readonly running: Pick<Running, 'start' | 'get' | 'cancel'>
}

export function createProcesses({ store, reads, executions, running }: ProcessesNeeds): Processes {
  function asOfNow(row: ExecutionRow): ProcessRow {
    return { ...row, name: row.name ?? '', outputSeq: executions.running(row.id)?.log.seq ?? row.outputSeq }
  }

  async function find(caller: Caller, verb: 'read' | 'exec', sessionId: string, name: string): Promise<ProcessRow> {
    const session = await reads.open(caller, verb, sessionId)
    const row = await store.read((sql) => findProcess(sql, session, name))
    if (row === null) throw new HoldfastError('not_found', 'there is no process of this name in this session')
    return asOfNow(row)
  }

  return {
    async start(caller, sessionId, request, signal) {
      const { executionId } = await running.start(caller, { id: sessionId }, request, signal)
      return asOfNow(await running.get(caller, sessionId, executionId))
    },
    async list(caller, sessionId) {
      const session = await reads.open(caller, 'read', sessionId)
      return (await store.read((sql) => listProcesses(sql, session, MAX_LISTED))).map(asOfNow)
    },
    listEnded: (caller, filter, limit) => store.read((sql) => listEndedProcesses(sql, caller.visibility, filter, limit)),
    get: (caller, sessionId, name) => find(caller, 'read', sessionId, name),
    async stop(caller, sessionId, name, graceMs) {
      const { id } = await find(caller, 'exec', sessionId, name)
      return running.cancel(caller, sessionId, id, graceMs)
    },
  }
}
