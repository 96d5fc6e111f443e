/**
 * A sandbox is gone: every session in it learns so, and what ran there is marked as lost, in one transaction each.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { TcpOverrun } from '../sandboxes/backend.ts'
import type { Store, Transaction } from '../store/store.ts'
import { endExecution, runningExecutions } from '../store/tables/executions.ts'
import { sessionsInSandbox } from '../store/tables/sessions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { SYSTEM } from './caller.ts'
import type { Changes } from './change.ts'
import { loseSandbox } from './lifecycle/compute.ts'
import type { EventDraft, Step } from './lifecycle/step.ts'

export type LoseSandbox = (sandboxId: string) => Promise<void>

export interface LosingNeeds {
  readonly store: Store
  readonly changes: Changes
  /** Resolves when none of these is between its row and its program: what was never sent is withdrawn by then, and is not lost. */
  started(executionIds: readonly string[]): Promise<void>
  /** Up to where the output of an execution is written down. */
  keptSeq(executionId: string): Promise<number>
  /** What the sandbox held when the server killed it for that; `null` for any other end. */
  overrunOf(sandboxId: string): Promise<TcpOverrun | null>
}

export function losing({ store, changes, started, keptSeq, overrunOf }: LosingNeeds): LoseSandbox {
  return async (sandboxId) => {
    const overrun = await overrunOf(sandboxId)
    for (const session of await store.read((sql) => sessionsInSandbox(sql, sandboxId))) {
      const kept = new Map<string, number>()
      const ids = (await store.read((sql) => runningExecutions(sql, session.id))).map(({ id }) => id)
      await started(ids)
      for (const id of ids) kept.set(id, await keptSeq(id))
      await changes.change(session, { actor: SYSTEM, action: 'session.lose-sandbox' }, async (row, transaction, now) =>
        withLostExecutions(loseSandbox(row, sandboxId, now, overrun), row, transaction, now, kept),
      )
    }
  }
}

/** Nobody will ever know how they ended; what of their output is `kept` can still be read. Only when the step is one. */
export async function withLostExecutions(
  step: Step,
  before: SessionRow,
  transaction: Transaction,
  now: number,
  kept: ReadonlyMap<string, number> = new Map(),
): Promise<Step> {
  if (step.session === before) return step
  const events: EventDraft[] = []
  for (const { id, kind, outputSeq, startedAt } of await runningExecutions(transaction, before.id)) {
    const end = {
      status: 'lost',
      exitCode: null,
      signal: null,
      endedAt: now,
      durationMs: now - startedAt,
      outputSeq: kept.get(id) ?? outputSeq,
      output: null,
    } as const
    if ((await endExecution(transaction, id, end)) !== null)
      events.push({ type: kind === 'process' ? 'process.ended' : 'execution.ended', data: { execution_id: id, status: 'lost' } })
  }
  return { session: step.session, events: [...events, ...step.events] }
}
