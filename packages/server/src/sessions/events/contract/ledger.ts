/**
 * Sessions for the proofs of events, audit and webhooks: real rows, changed the way the session service changes them.
 */
import { TenantPolicy } from '@holdfast/protocol'
import type { EventType, SessionState } from '@holdfast/protocol'
import { randomId } from '../../../home/random-id.ts'
import type { Store, Transaction } from '../../../store/store.ts'
import { insertSession, lockSession, updateSession } from '../../../store/tables/sessions.ts'
import type { SessionRow } from '../../../store/tables/sessions.ts'
import { insertTenant } from '../../../store/tables/tenants.ts'
import type { AuditRecord } from '../../audit/audit-record.ts'
import { appendAudit, emptyChain } from '../../audit/chain.ts'
import { purgeChain } from '../../audit/purge-chain.ts'
import { anchorChain } from '../../audit/tenant-audit.ts'
import { SYSTEM } from '../../caller.ts'
import { appendEvent } from '../append-event.ts'
import { createEventListeners } from '../event-listeners.ts'
import type { EventListeners } from '../event-listeners.ts'

export interface LedgerSession {
  readonly tenantId: string
  readonly id: string
}

export interface Ledger {
  readonly listeners: EventListeners
  tenant(): Promise<string>
  /** Its first event and record are there, and the anchor of its chain. */
  session(tenantId: string, wish?: Partial<SessionRow>): Promise<LedgerSession>
  /** One event and one record. `inside` runs in the same transaction, before or after them. */
  happen(session: LedgerSession, options?: HappenOptions): Promise<void>
  close(session: LedgerSession): Promise<void>
  purge(session: LedgerSession): Promise<void>
}

export interface HappenOptions {
  readonly type?: EventType
  readonly at?: number
  /** How often, in the one transaction. */
  readonly times?: number
  readonly first?: (transaction: Transaction) => Promise<unknown>
  readonly last?: (transaction: Transaction) => Promise<unknown>
}

export const NOW = Date.UTC(2026, 10, 1)

export function openLedger(store: Store, listeners: EventListeners = createEventListeners()): Ledger {
  const happenIn = async (transaction: Transaction, before: SessionRow, to: SessionState, type: EventType, at: number) => {
    const { id, tenantId } = before
    const record = recordOf(type, id)
    const head = await appendAudit(transaction, { tenantId, chain: id, seq: before.auditSeq, hash: before.auditHash }, record, at)
    const after = {
      ...{ ...before, state: to, version: before.version + 1, eventSeq: before.eventSeq + 1 },
      ...{ auditSeq: head.seq, auditHash: head.hash },
    }
    if (!(await updateSession(transaction, before, after))) throw new Error('the row changed under a lock')
    await appendEvent(transaction, eventOf(after, type, at), listeners)
    return head
  }

  const locked = async (transaction: Transaction, { tenantId, id }: LedgerSession) => {
    const row = await lockSession(transaction, tenantId, id)
    if (row === null) throw new Error(`no session ${id}`)
    return row
  }

  return {
    listeners,

    async tenant() {
      const id = randomId('tnt')
      await store.write((transaction) =>
        insertTenant(transaction, {
          id,
          name: id,
          state: 'active',
          policy: TenantPolicy.parse({}),
          quotas: {},
          version: 1,
          createdAt: NOW,
        }),
      )
      return id
    },

    async session(tenantId, wish = {}) {
      const id = wish.id ?? randomId('ses')
      await store.write(async (transaction) => {
        const row = { ...freshRow(tenantId, id), ...wish }
        await insertSession(transaction, row)
        const head = await happenIn(transaction, row, 'idle', 'session.created', NOW)
        await anchorChain(transaction, 'opened', head, recordOf('session.created', id), NOW)
      })
      return { tenantId, id }
    },

    async happen(session, { type = 'session.refreshed', at = NOW, times = 1, first, last } = {}) {
      await store.write(async (transaction) => {
        await first?.(transaction)
        for (let n = 0; n < times; n++) {
          const row = await locked(transaction, session)
          await happenIn(transaction, row, row.state, type, at)
        }
        await last?.(transaction)
      })
    },

    async close(session) {
      await store.write(async (transaction) => {
        const head = await happenIn(transaction, await locked(transaction, session), 'released', 'session.released', NOW)
        await anchorChain(transaction, 'closed', head, recordOf('session.released', session.id), NOW)
      })
    },

    async purge({ tenantId, id }) {
      const row = await store.write((transaction) => locked(transaction, { tenantId, id }))
      const head = { tenantId, chain: id, seq: row.auditSeq, hash: row.auditHash }
      await purgeChain(store, head, recordOf('session.purged', id), NOW, 2)
      await store.write((transaction) => transaction.run('DELETE FROM sessions WHERE id = ?', id))
    },
  }
}

function recordOf(action: string, sessionId: string): AuditRecord {
  return { action, actor: SYSTEM, resource: { type: 'session', id: sessionId }, sessionId, decision: 'allow', outcome: 'success' }
}

function eventOf(row: SessionRow, type: EventType, at: number) {
  const body = {
    ...{ from: row.state, to: row.state, reason: null, actor: SYSTEM, sandboxId: null },
    ...{ incarnation: row.incarnation, version: row.version },
    ...{ deadlines: { idleAt: at, leaseAt: null, lifetimeAt: null, expiresAt: at }, data: { running: 0 } },
  }
  return { tenantId: row.tenantId, sessionId: row.id, seq: row.eventSeq, type, at, body }
}

function freshRow(tenantId: string, id: string): SessionRow {
  const { seq: auditSeq, hash: auditHash } = emptyChain(tenantId, id)
  return {
    ...{ id, tenantId, owner: 'ann', ownerGroup: null, key: id, keyHash: id, scope: null, labels: {}, metadata: {}, createdBy: 'ann' },
    ...{ state: 'pending', version: 1, incarnation: 1, pendingReason: 'create', suspendReason: null, closeReason: null },
    ...{ closeDetail: null, failure: null, cleanup: null, heldAt: null, heldBy: null, heldReason: null, pendingTransfer: null, wish: {} },
    ...{ pack: null, packKey: null, packUid: null, serverId: null, sandboxId: null, workspace: 'intact', workspaceOnClose: 'delete' },
    ...{
      notice: null,
      running: 0,
      executionCount: 0,
      credentials: [],
      onIdle: 'suspend',
      idleMs: 1,
      leaseMs: null,
      leaseAt: null,
      lifetimeAt: null,
    },
    ...{ retentionMs: 1, recordMs: 1, createdAt: NOW, activityAt: NOW, suspendedAt: null, closingAt: null, drainUntil: null },
    ...{ closedAt: null, deadlineAt: null, deadline: null, eventSeq: 0, auditSeq, auditHash },
  }
}
