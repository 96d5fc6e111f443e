/**
 * A session's row for tests of what stands around sessions: complete, plain, open.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { randomId } from '../../home/random-id.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'

export function sampleSession(differs: Partial<SessionRow>): SessionRow {
  const id = randomId('ses')
  return {
    ...{ id, tenantId: 'tnt_default', owner: 'alice', ownerGroup: null, key: id, keyHash: id, scope: null },
    ...{ labels: {}, metadata: {}, createdBy: 'alice', state: 'idle', version: 1, incarnation: 1 },
    ...{ pendingReason: null, suspendReason: null, closeReason: null, closeDetail: null, failure: null, cleanup: null },
    ...{ heldAt: null, heldBy: null, heldReason: null, pendingTransfer: null, wish: {}, pack: null, packKey: null, packUid: null },
    ...{
      serverId: null,
      sandboxId: null,
      workspace: 'intact',
      workspaceOnClose: 'delete',
      notice: null,
      running: 0,
      executionCount: 0,
      credentials: [],
    },
    ...{ onIdle: 'suspend', idleMs: 300_000, leaseMs: null, leaseAt: null, lifetimeAt: null, retentionMs: 1000, recordMs: 1000 },
    ...{ createdAt: 1000, activityAt: 1000, suspendedAt: null, closingAt: null, drainUntil: null, closedAt: null },
    ...{ deadlineAt: null, deadline: null, eventSeq: 0, auditSeq: 0, auditHash: '' },
    ...differs,
  }
}
