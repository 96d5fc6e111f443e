/**
 * Removes the chain of a session whose record has had its time, and leaves a record that says so.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The tenant's chain first vouches for the head and its removal; only then do the records go, oldest first and in bounded batches. Cut
 * off at any point it is simply called again; the verifier takes what is left for the rest of a chain that is being removed.
 */
import type { Store } from '../../store/store.ts'
import { deleteAuditOf } from '../../store/tables/audit.ts'
import { findAnchor } from './anchors.ts'
import type { AuditRecord } from './audit-record.ts'
import type { ChainHead } from './chain.ts'
import { BATCH, inBatches } from '../retention.ts'
import { anchorChain } from './tenant-audit.ts'

/** To be called before the session's row is dropped; nothing may be appended to the chain afterwards. */
export async function purgeChain(store: Store, head: ChainHead, record: AuditRecord, at: number, batch: number = BATCH): Promise<void> {
  await store.write(async (transaction) => {
    const isAnchored = (await findAnchor(transaction, 'purged', head.chain)) !== null
    if (!isAnchored) await anchorChain(transaction, 'purged', head, record, at)
  })
  await inBatches(async () => (await store.write((transaction) => deleteAuditOf(transaction, head.chain, batch), 'process')) === batch)
}
