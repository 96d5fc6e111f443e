/**
 * Chains of audit records: each record's hash covers the one before, so that none can be changed, removed or moved unseen.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A session has a chain of its own, whose head lies in its row, so that sessions share no lock. A tenant has one too, which
 * vouches for the beginning and end of its sessions' chains: see `tenant-audit.ts`. What this cannot find and why there is no
 * chain per server: docs/adr/0011-events-and-audit.md
 */
import { hash as digest } from 'node:crypto'
import type { Transaction } from '../../store/store.ts'
import { insertAudit } from '../../store/tables/audit.ts'
import type { AuditRow } from '../../store/tables/audit.ts'
import type { AuditRecord, ChainPlace } from './audit-record.ts'

/** The last record of a chain. `chain` is a session's id, or the tenant's own. */
export interface ChainHead extends ChainPlace {
  readonly tenantId: string
}

/** What stands before the first record, and in the row of what has none yet. */
export const NO_HASH = ''

export function emptyChain(tenantId: string, chain: string): ChainHead {
  return { tenantId, chain, seq: 0, hash: NO_HASH }
}

/** One INSERT. The caller holds the row with the head, and stores the new head there in the same transaction. */
export async function appendAudit(
  transaction: Transaction,
  head: ChainHead,
  record: AuditRecord,
  at: number,
  id: string | null = null,
): Promise<ChainHead> {
  const { tenantId, chain } = head
  const draft = { chain, seq: head.seq + 1, id, tenantId, at, body: JSON.stringify(record), previous: head.hash }
  const hash = hashOf(draft)
  await insertAudit(transaction, { ...draft, hash })
  return { tenantId, chain, seq: draft.seq, hash }
}

/** SHA-256 over canonical JSON: the keys in alphabetical order, no spaces. `body` is covered as the text that is stored. */
export function hashOf(row: Omit<AuditRow, 'hash'>): string {
  const { at, body, chain, id, previous, seq, tenantId } = row
  return digest('sha256', JSON.stringify({ at, body, chain, id, previous, seq, tenantId }))
}
