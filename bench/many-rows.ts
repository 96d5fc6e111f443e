/** A home whose store holds many sessions before its server starts: suspended ones, which cost rows and nothing else. */
import type { SessionRow } from '../packages/server/src/store/tables/sessions.ts'
import { createTenants } from '../packages/server/src/access/tenants.ts'
import { randomId } from '../packages/server/src/home/random-id.ts'
import { openStore } from '../packages/server/src/store/open-store.ts'
import { insertSession } from '../packages/server/src/store/tables/sessions.ts'

const DAY_MS = 86_400_000

/** Gives the id of one in the middle. */
export async function fillWithSessions(home: string, count: number): Promise<string> {
  const store = await openStore({ url: null, home })
  try {
    await createTenants({ store, clock: Date.now }).ensureDefaultTenant()
    const rows = Array.from({ length: count }, (_, place) => suspendedRow(place))
    await store.write(async (transaction) => {
      for (const row of rows) await insertSession(transaction, row)
    })
    return rows[Math.floor(count / 2)]?.id ?? ''
  } finally {
    await store.close()
  }
}

function suspendedRow(place: number): SessionRow {
  const now = Date.now()
  const key = `conversation-${place}`
  return {
    ...{ id: randomId('ses'), tenantId: 'tnt_default', owner: 'bench', ownerGroup: null, key, keyHash: key, scope: null },
    ...{ labels: {}, metadata: {}, createdBy: 'bench', state: 'suspended', version: 3, incarnation: 2 },
    ...{ pendingReason: null, suspendReason: 'idle', closeReason: null, closeDetail: null, failure: null, cleanup: null },
    ...{ heldAt: null, heldBy: null, heldReason: null, pendingTransfer: null, wish: {}, pack: null, packKey: null, packUid: null },
    ...{ serverId: null, sandboxId: null, workspace: 'intact', workspaceOnClose: 'delete', notice: null, running: 0, executionCount: 1 },
    ...{ credentials: [] },
    ...{ onIdle: 'suspend', idleMs: 300_000, leaseMs: null, leaseAt: null, lifetimeAt: null, retentionMs: 30 * DAY_MS },
    ...{ recordMs: 30 * DAY_MS, createdAt: now - place, activityAt: now, suspendedAt: now, closingAt: null, drainUntil: null },
    ...{ closedAt: null, deadlineAt: now + 30 * DAY_MS, deadline: 'retention', eventSeq: 0, auditSeq: 0, auditHash: '' },
  }
}
