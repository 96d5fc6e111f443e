/**
 * What a process left running when it ended: ended too, where somebody promised that nothing is left.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Store } from '../../store/store.ts'
import { findExecution } from '../../store/tables/executions.ts'
import type { SessionRef } from '../../store/tables/sessions.ts'
import type { Fleet } from '../fleet.ts'

/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000

/** A tree that cannot be proved dead takes its sandbox with it; one whose sandbox is not here is nobody's any more. */
export async function endLeftBehind(
  { store, fleet }: { readonly store: Store; readonly fleet: Pick<Fleet, 'get'> },
  session: SessionRef,
  executionId: string,
): Promise<void> {
  const row = await store.read((sql) => findExecution(sql, session.tenantId, session.id, executionId))
  const live = row === null || row.status === 'running' ? undefined : fleet.get(row.sandboxId)
  if (live === undefined) return
  try {
    const { processes } = await live.connected()
    for (const { id, tag, state } of await processes.list()) {
      if (tag !== executionId || state !== 'lingering') continue
      if (!(await processes.kill({ id }, GRACE_MS)).verified) return await live.destroy()
    }
  } catch (error) {
    // It ended by itself meanwhile, or with its sandbox.
    if (!isHoldfastError(error)) throw error
  }
}
