/**
 * A tenant's chain: what concerns no single session, and the anchors of its sessions' chains.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * An anchor says that a chain had this record at this place. One stands for each chain's first record, one for its last, and one for its
 * removal; so a chain that vanished or lost its tail is missed. Lock order: a session's row first, then its tenant's.
 */
import type { Transaction } from '../../store/store.ts'
import { lockTenantHead, moveTenantHead } from '../../store/tables/audit.ts'
import type { AuditRecord } from './audit-record.ts'
import { appendAudit, NO_HASH } from './chain.ts'
import type { ChainHead } from './chain.ts'

/** `opened`: the first record of a chain. `closed`: the last one. `purged`: the chain was removed after its time. */
export type AnchorKind = 'opened' | 'closed' | 'purged'

/** Locks the tenant's row until the transaction ends. */
export async function appendTenantAudit(
  transaction: Transaction,
  tenantId: string,
  record: AuditRecord,
  at: number,
  id?: string,
): Promise<void> {
  const { seq, hash } = await lockTenantHead(transaction, tenantId)
  const before: ChainHead = { tenantId, chain: tenantId, seq, hash: seq === 0 ? NO_HASH : hash }
  const head = await appendAudit(transaction, before, record, at, id)
  await moveTenantHead(transaction, tenantId, head.seq, head.hash)
}

/** Puts the head of a session's chain on its tenant's: `opened` after its first record, `closed` after the one that ends it. */
export async function anchorChain(
  transaction: Transaction,
  kind: AnchorKind,
  head: ChainHead,
  record: AuditRecord,
  at: number,
): Promise<void> {
  const { tenantId, chain, seq, hash } = head
  await appendTenantAudit(transaction, tenantId, { ...record, anchors: { chain, seq, hash } }, at, anchorId(kind, chain))
}

/** Known from the chain, so that the verifier finds an anchor without a search, and no chain has two of a kind. */
export function anchorId(kind: AnchorKind, chain: string): string {
  return `aud_${kind}_${chain}`
}
