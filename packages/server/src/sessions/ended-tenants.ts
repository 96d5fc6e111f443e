/**
 * The sessions of a tenant that is being terminated: ended at once, each by the server that hosts it.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Found by the tenant's row with every sweep, so that it is the same whichever server terminated the tenant, and after any crash. A tenant
 * whose last session has ended is `terminated`, whichever server sees that first.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../store/store.ts'
import { sessionsOfEndedTenants } from '../store/tables/sessions.ts'
import { countSessions, emptyEndedTenants, lockTenant, updateTenant } from '../store/tables/tenants.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { appendTenantAudit } from './audit/tenant-audit.ts'
import { SYSTEM } from './caller.ts'
import type { Changes } from './change.ts'
import { beginClosing } from './lifecycle/closing.ts'

/** With one sweep; the next one goes on. */
const AT_ONCE = 500

export interface EndedTenantsNeeds {
  readonly store: Store
  readonly changes: Changes
  readonly serverId: string
  readonly log: Log
  readonly clock: () => number
}

/** Begins to close them; what follows, follows from their rows. */
export async function endSessionsOfEndedTenants({ store, changes, serverId, log, clock }: EndedTenantsNeeds): Promise<void> {
  for (const ref of await store.read((sql) => sessionsOfEndedTenants(sql, serverId, AT_ONCE))) {
    // A turn for everybody else.
    await turn()
    try {
      await changes.change(ref, { actor: SYSTEM, action: 'session.cancel' }, (row, _transaction, now) =>
        beginClosing(row, { reason: 'cancel', detail: 'tenant_terminated' }, now),
      )
    } catch (error) {
      log.warn('session-not-ended', { session: ref.id, error: errorText(error) })
    }
  }
  for (const id of await store.read((sql) => emptyEndedTenants(sql, AT_ONCE))) await finishTenant(store, id, clock())
}

async function finishTenant(store: Store, id: string, now: number): Promise<void> {
  await store.write(async (transaction) => {
    const before = await lockTenant(transaction, id)
    if (before?.state !== 'terminating' || (await countSessions(transaction, id, '')).open > 0) return
    const after = await updateTenant(transaction, before, { state: 'terminated' })
    if (after === null) return
    const states = { before: { state: before.state, version: before.version }, after: { state: after.state, version: after.version } }
    const resource = { type: 'tenant', id }
    await appendTenantAudit(
      transaction,
      id,
      { action: 'tenant.terminated', actor: SYSTEM, resource, decision: 'allow', outcome: 'success', ...states },
      now,
    )
  })
}
