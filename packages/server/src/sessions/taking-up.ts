/**
 * What runs in a sandbox that this server found again is followed on, from where its output was last kept.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Done before anybody else gets hold of the sandbox, so that nothing can start there meanwhile: what the store says runs there
 * is what an earlier life of this server left.
 */
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { Store } from '../store/store.ts'
import { runningExecutions } from '../store/tables/executions.ts'
import { findSandbox } from '../store/tables/sandboxes.ts'
import { sessionsInSandbox } from '../store/tables/sessions.ts'
import type { Cancelling } from './executions/cancelling.ts'
import type { Executions } from './executions/executions.ts'

export interface TakingUpNeeds {
  readonly store: Store
  readonly executions: Executions
  readonly cancelling: Cancelling
}

export function takingUp({ store, executions, cancelling }: TakingUpNeeds): (sandboxId: string, live: LiveSandbox) => Promise<void> {
  return async (sandboxId, live) => {
    const found = await store.read(async (sql) => {
      const sandbox = await findSandbox(sql, sandboxId)
      // Another guest than the one that was started: nothing of ours runs in it.
      if (sandbox?.bootId !== live.bootId) return []
      const sessions = await sessionsInSandbox(sql, sandboxId)
      return (await Promise.all(sessions.map(({ id }) => runningExecutions(sql, id)))).flat()
    })
    for (const execution of found) {
      await executions.recover(execution, live)
      if (execution.cancelAt !== null) void cancelling.one(execution, live)
    }
  }
}
