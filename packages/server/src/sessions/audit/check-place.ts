/**
 * Whether a chain has the record that somebody vouches for.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { Sql } from '../../store/store.ts'
import { hashAt } from '../../store/tables/audit.ts'
import { findAnchor } from './anchors.ts'
import type { ChainPlace } from './audit-record.ts'

export interface AuditProblem {
  /**
   * `changed`: not what was written. `missing`: gone. `reordered`: whole, at another place. `inserted`: never belonged there.
   * `wrong-head`: the chain does not end with the record that its row names. `missing-anchor`: the tenant's chain does not
   * speak of this chain.
   */
  readonly kind: 'changed' | 'missing' | 'reordered' | 'inserted' | 'wrong-head' | 'missing-anchor'
  readonly chain: string
  readonly seq: number
  readonly message: string
}

export type Report = (problem: AuditProblem) => void

/** A chain that was removed after its time, with a record of it, is in order. */
export async function checkPlace(sql: Sql, { chain, seq, hash }: ChainPlace, witness: string, report: Report): Promise<void> {
  const found = await hashAt(sql, chain, seq)
  if (found === hash) return
  if (found !== null) return report({ kind: 'changed', chain, seq, message: `is not the record that ${witness} vouches for` })
  if ((await findAnchor(sql, 'purged', chain)) !== null) return
  report({ kind: 'missing', chain, seq, message: `${witness} vouches for a record that is gone` })
}
