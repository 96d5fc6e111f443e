/**
 * Repairs records that say `running` although nothing in this server follows them.
 *
 * A write whose answer was lost can be committed long after the server gave it up, so such a record may appear at any time. The guest knows
 * what became of it: the true end, or that it never ran. Cheap: one indexed read of what runs, compared with what this server owns.
 */
import type { Store } from '../store/store.ts'
import { findExecution, hostedRunning } from '../store/tables/executions.ts'
import type { SessionRef } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import type { Cancelling } from './executions/cancelling.ts'
import type { Executions } from './executions/executions.ts'
import type { Fleet } from './fleet.ts'
import type { SessionReads } from './session-reads.ts'

export interface Reconciler {
  run(): Promise<void>
}

export interface ReconcilerNeeds {
  readonly store: Store
  readonly serverId: string
  readonly reads: Pick<SessionReads, 'hosted'>
  readonly executions: Executions
  readonly cancelling: Cancelling
  readonly fleet: Pick<Fleet, 'get'>
  /** Its sandbox is not connected: it is dialled, and what runs there is followed, or the sandbox is lost. */
  onUnreached(session: SessionRef): void
  readonly log: Log
}

export function createReconciler(needs: ReconcilerNeeds): Reconciler {
  const { store, serverId, reads, executions, cancelling, fleet, onUnreached, log } = needs

  async function repair(ref: SessionRef, id: string): Promise<void> {
    const session = await reads.hosted(ref)
    // Read after it was found without an owner: an owner stores the end before it lets go, so `running` here means that nobody will.
    const row = await store.read((sql) => findExecution(sql, ref.tenantId, ref.id, id))
    if (session === null || row?.status !== 'running' || executions.isOwned(id)) return
    log.warn('execution-without-owner', { session: ref.id, execution: id })
    if (session.sandboxId !== row.sandboxId) return executions.recordLost(row)
    const live = fleet.get(row.sandboxId)
    if (live === undefined) return onUnreached(ref)
    await executions.recover(row, live)
    if (row.cancelAt !== null) await cancelling.one(row, live)
  }

  return {
    async run() {
      for (const { id, session } of await store.read((sql) => hostedRunning(sql, serverId))) {
        if (executions.isOwned(id)) continue
        try {
          await repair(session, id)
        } catch (error) {
          // Decision: the next round finds it again.
          log.warn('execution-not-repaired', { session: session.id, execution: id, error: errorText(error) })
        }
      }
    },
  }
}
