/**
 * An audit for the verifier's proofs: chosen sessions, written by the real parts into a fresh database.
 */
import fc from 'fast-check'
import { migrate } from '../../../store/migrate.ts'
import { openSqliteStore } from '../../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../../store/store.ts'
import { openLedger } from '../../events/contract/ledger.ts'
import type { LedgerSession } from '../../events/contract/ledger.ts'
import type { AuditProblem } from '../check-place.ts'
import { verifyAudit } from '../verify.ts'

export interface Plan {
  /** How many changes each session has after its creation, and how it ended. */
  readonly sessions: readonly { readonly changes: number; readonly end: 'open' | 'closed' | 'purged' }[]
}

export const plans: fc.Arbitrary<Plan> = fc.record({
  sessions: fc.array(fc.record({ changes: fc.nat(4), end: fc.constantFrom('open', 'closed', 'purged') }), { minLength: 1, maxLength: 4 }),
})

export async function writeAudit(store: Store, { sessions }: Plan): Promise<readonly LedgerSession[]> {
  const ledger = openLedger(store)
  const tenants = [await ledger.tenant(), await ledger.tenant()]
  const made: LedgerSession[] = []
  for (const [index, { changes, end }] of sessions.entries()) {
    const session = await ledger.session(tenants[index % 2] ?? '')
    for (let n = 0; n < changes; n++) await ledger.happen(session)
    if (end !== 'open') await ledger.close(session)
    if (end === 'purged') await ledger.purge(session)
    made.push(session)
  }
  return made
}

export async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openSqliteStore(':memory:')
  try {
    await migrate(store)
    return await work(store)
  } finally {
    await store.close()
  }
}

export async function verify(store: Store, pageSize = 3): Promise<readonly AuditProblem[]> {
  const problems: AuditProblem[] = []
  await verifyAudit({ store, pageSize, report: (problem) => problems.push(problem) })
  return problems
}
