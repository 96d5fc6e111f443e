/**
 * Ends what runs in a session: each execution's whole tree, also what it left in the background, proved dead.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The wish is in the store before anything is killed, so that a restart goes on with it. A tree that cannot be proved dead takes its
 * sandbox with it.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { ExecutionStatus } from '@holdfast/protocol'
import type { ExecutionKey, ProcessInfo } from '../../guest/inside.ts'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import type { Store } from '../../store/store.ts'
import { executionsKnown, requestCancel, runningExecutions } from '../../store/tables/executions.ts'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import { notReceivers, runningReceivers } from '../../store/tables/execution-credentials.ts'
import { endRestarts, keptRestarts } from '../../store/tables/process-restarts.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import type { Executions } from './executions.ts'

/** Between SIGTERM and SIGKILL. */
export const KILL_GRACE_MS = 2_000

export interface Killed {
  readonly executions: number
  readonly killed: number
  readonly verified: boolean
}

export interface Cancelling {
  /** One execution. Resolves when its end is stored. */
  one(execution: Pick<ExecutionRow, 'id'>, live: LiveSandbox | undefined, graceMs?: number): Promise<Killed>
  /** What an execution that is over left running in the background. */
  leftOf(execution: Pick<ExecutionRow, 'id'>, live: LiveSandbox, graceMs?: number): Promise<Killed>
  /** All of a session's; `processes` says whether named ones end too and are not started again, `status` what their end is called. Background trees of ended executions go as well. */
  all(session: SessionRow, live: LiveSandbox | undefined, options: CancelOptions): Promise<Killed>
  /** Those that received one of these credentials, named processes and background trees included. */
  receivers(session: SessionRow, live: LiveSandbox, credentials: readonly string[]): Promise<Killed>
}

export interface CancelOptions {
  readonly processes: boolean
  readonly graceMs?: number
  readonly status?: ExecutionStatus
  /** Called when the cancellation is stored, before the guest is asked for anything. */
  readonly beforeKill?: () => Promise<void>
}

export interface CancellingNeeds {
  readonly store: Store
  readonly executions: Executions
  readonly clock: () => number
}

export function createCancelling({ store, executions, clock }: CancellingNeeds): Cancelling {
  async function cancel(
    rows: readonly Pick<ExecutionRow, 'id'>[],
    live: LiveSandbox | undefined,
    graceMs: number,
    { status, beforeKill }: Pick<CancelOptions, 'status' | 'beforeKill'> = {},
  ): Promise<Killed> {
    await store.write(async (transaction) => {
      for (const { id } of rows) await requestCancel(transaction, id, clock())
    })
    await beforeKill?.()
    const ids = rows.map(({ id }) => id)
    await executions.started(ids)
    if (status !== undefined) executions.nameEnd(ids, status)
    if (live === undefined) return { executions: rows.length, killed: 0, verified: false }
    const reports = await Promise.all(rows.map(({ id }) => kill(live, { tag: id }, graceMs)))
    const total = sum(reports)
    if (!total.verified) await live.destroy()
    // What is dead does not wait for whoever reads it slowly or not at all.
    for (const { id } of rows) executions.running(id)?.reader?.letGo()
    await Promise.all(rows.map(async ({ id }) => executions.running(id)?.ended.catch(() => undefined)))
    return { executions: rows.length, ...total }
  }

  /** First, so that a start which is under way is either called off or found among what runs. */
  async function callOffRestarts({ id }: SessionRow): Promise<void> {
    const kept = await store.read((sql) => keptRestarts(sql, id))
    if (kept.length > 0) await store.write((transaction) => endRestarts(transaction, id))
  }

  /** What ended executions of this session left running in the background. */
  async function leftovers(session: SessionRow, live: LiveSandbox): Promise<readonly ExecutionKey[]> {
    const listed = await lingering(live)
    const tags = listed.flatMap(({ tag }) => tag ?? [])
    const own = new Set(await store.read((sql) => executionsKnown(sql, session.id, tags)))
    return listed.filter(({ tag }) => tag !== null && own.has(tag)).map(({ id }) => ({ id }))
  }

  /** The same of those that received a credential. One whose record is gone may have. */
  async function receivedLeftovers(
    { id: sessionId, packUid }: SessionRow,
    live: LiveSandbox,
    credentials: readonly string[],
  ): Promise<readonly ExecutionKey[]> {
    const listed = (await lingering(live)).filter(({ uid }) => packUid === null || uid === packUid)
    const tags = listed.flatMap(({ tag }) => tag ?? [])
    const others = new Set(await store.read((sql) => notReceivers(sql, sessionId, tags, credentials)))
    return listed.filter(({ tag }) => tag === null || !others.has(tag)).map(({ id }) => ({ id }))
  }

  async function withLeftovers(
    first: Killed,
    live: LiveSandbox,
    graceMs: number,
    find: () => Promise<readonly ExecutionKey[]>,
  ): Promise<Killed> {
    try {
      const rest = sum(await Promise.all((await find()).map((key) => kill(live, key, graceMs))))
      if (!rest.verified) await live.destroy()
      return { executions: first.executions, killed: first.killed + rest.killed, verified: rest.verified }
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      await live.destroy()
      return { ...first, verified: false }
    }
  }

  return {
    one: (execution, live, graceMs = KILL_GRACE_MS) => cancel([execution], live, graceMs),
    async leftOf({ id }, live, graceMs = KILL_GRACE_MS) {
      // Asked first: for a tree that is gone already the guest answers with the count of the kill before.
      const listed = await (await live.connected()).processes.list()
      const left = listed.filter(({ tag, state }) => tag === id && state === 'lingering')
      const report = sum(await Promise.all(left.map((known) => kill(live, { id: known.id }, graceMs))))
      if (!report.verified) await live.destroy()
      return { executions: 0, ...report }
    },
    async all(session, live, { processes, graceMs = KILL_GRACE_MS, ...how }) {
      if (processes) await callOffRestarts(session)
      const rows = await store.read((sql) => runningExecutions(sql, session.id))
      const first = await cancel(processes ? rows : rows.filter(({ kind }) => kind === 'command'), live, graceMs, how)
      return live === undefined || !first.verified ? first : withLeftovers(first, live, graceMs, () => leftovers(session, live))
    },
    async receivers(session, live, credentials) {
      const ids = await store.read((sql) => runningReceivers(sql, session.id, credentials))
      const rows = ids.map((id) => ({ id }))
      const first = await cancel(rows, live, KILL_GRACE_MS)
      return first.verified ? withLeftovers(first, live, KILL_GRACE_MS, () => receivedLeftovers(session, live, credentials)) : first
    },
  }
}

async function lingering(live: LiveSandbox): Promise<readonly ProcessInfo[]> {
  return (await (await live.connected()).processes.list()).filter(({ state }) => state === 'lingering')
}

async function kill(live: LiveSandbox, key: ExecutionKey, graceMs: number): Promise<Omit<Killed, 'executions'>> {
  try {
    return await (await live.connected()).processes.kill(key, graceMs)
  } catch (error) {
    // It ended by itself before it could be killed.
    if (isHoldfastError(error, 'process_unknown')) return { killed: 0, verified: true }
    if (!isHoldfastError(error)) throw error
    return { killed: 0, verified: false }
  }
}

function sum(reports: readonly Omit<Killed, 'executions'>[]): Omit<Killed, 'executions'> {
  return {
    killed: reports.reduce((total, { killed }) => total + killed, 0),
    verified: reports.every(({ verified }) => verified),
  }
}
