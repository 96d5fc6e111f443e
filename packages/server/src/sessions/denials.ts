/**
 * What was refused, on the tenant's audit chain: who tried what. An id that is not visible is written as a hash.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { createHash } from 'node:crypto'
import type { Store } from '../store/store.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { appendTenantAudit } from './audit/tenant-audit.ts'
import type { Caller } from './caller.ts'

export interface Denials {
  record(caller: Caller, verb: string, id: string, session: SessionRow | null): Promise<void>
}

export function createDenials(store: Store, clock: () => number): Denials {
  return {
    async record(caller, verb, id, session) {
      const { tenantId } = caller.visibility
      const resource = session === null ? { type: 'session', id: hidden(id) } : { type: 'session', id, owner: session.owner }
      const record = {
        action: `session.${verb}`,
        actor: caller.actor,
        resource,
        decision: 'deny',
        outcome: 'failure',
        errorCode: session === null ? 'not_found' : 'forbidden',
      } as const
      await store.write((transaction) => appendTenantAudit(transaction, tenantId, record, clock()), 'process')
    },
  }
}

function hidden(id: string): string {
  return `sha256:${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}
