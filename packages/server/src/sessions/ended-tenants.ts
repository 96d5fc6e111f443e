/**
 * The sessions of a tenant that is being terminated: ended at once, each by the server that hosts it.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Found by the tenant's row with every sweep, so that it is the same whichever server terminated the tenant, and after any crash.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../store/store.ts'
import { sessionsOfEndedTenants } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
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
}

/** Begins to close them; what follows, follows from their rows. */
export async function endSessionsOfEndedTenants({ store, changes, serverId, log }: EndedTenantsNeeds): Promise<void> {
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
}
