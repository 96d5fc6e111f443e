/**
 * The end of a closed session's record: when its time is over, everything about it goes but the word that it was.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Each step may be repeated after a crash. Its events go with their own age, so that nobody's cursor ends early. The tenant's audit chain keeps that the session was there, when it was dropped and
 * the last hash of its own chain.
 */
import type { Store } from '../store/store.ts'
import { endedExecutionIds } from '../store/tables/executions.ts'
import { deleteClosedSession } from '../store/tables/sessions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { purgeChain } from './audit/purge-chain.ts'
import { SYSTEM } from './caller.ts'
import { removeExecutions } from './executions/remove-executions.ts'
import type { Habitats } from './habitats.ts'
import { BATCH, inBatches } from './retention.ts'

export interface PurgeNeeds {
  readonly store: Store
  readonly habitats: Habitats
  readonly clock: () => number
  readonly outputDirectory: string
}

export async function purge({ store, habitats, clock, outputDirectory }: PurgeNeeds, session: SessionRow): Promise<void> {
  const { id, tenantId, owner, auditSeq, auditHash } = session
  await habitats.remove(session)
  await inBatches(async () => {
    const ids = await store.read((sql) => endedExecutionIds(sql, id, BATCH))
    await removeExecutions({ store, outputDirectory }, id, ids)
    return ids.length === BATCH
  })
  const record = {
    action: 'session.purge',
    actor: SYSTEM,
    resource: { type: 'session', id, owner },
    sessionId: id,
    decision: 'allow',
    outcome: 'success',
  } as const
  await purgeChain(store, { tenantId, chain: id, seq: auditSeq, hash: auditHash }, record, clock())
  await store.write((transaction) => deleteClosedSession(transaction, session))
}
