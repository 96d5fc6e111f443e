/**
 * The table of labels: those of every session, found by their value.
 *
 * Stands beside the flow. Written and dropped with the session's row and by nothing else. `created_at` is the session's, so that
 * a list by label is read in its order.
 */
import type { SqlValue, Transaction } from '../store.ts'

export interface LabelMatch {
  readonly name: string
  readonly value: string
}

interface Labelled {
  readonly id: string
  readonly tenantId: string
  readonly labels: Readonly<Record<string, string>>
  readonly createdAt: number
}

export async function insertLabels(transaction: Transaction, { id, tenantId, labels, createdAt }: Labelled): Promise<void> {
  const entries = Object.entries(labels)
  if (entries.length === 0) return
  const places = entries.map(() => '(?, ?, ?, ?, ?)').join(', ')
  await transaction.run(
    `INSERT INTO session_labels (session_id, name, value, tenant_id, created_at) VALUES ${places}`,
    ...entries.flatMap(([name, value]) => [id, name, value, tenantId, createdAt]),
  )
}

export async function deleteLabels(transaction: Transaction, { id }: Pick<Labelled, 'id'>): Promise<void> {
  await transaction.run(`DELETE FROM session_labels WHERE session_id = ?`, id)
}

/** What a list of sessions is read from. */
export interface LabelSource {
  readonly from: string
  readonly values: readonly SqlValue[]
  /** What the list is ordered by: a time and an id. */
  readonly order: readonly [string, string]
}

/** The first label leads, through the index that has its sessions in order; the others are looked up for each session that it gives. */
export function labelSource(tenantId: string, [first, ...others]: readonly LabelMatch[]): LabelSource {
  if (first === undefined) return { from: 'sessions WHERE TRUE', values: [], order: ['created_at', 'id'] }
  const also = others.map(
    () => ` AND EXISTS (SELECT 1 FROM session_labels AS also WHERE also.session_id = sessions.id AND also.name = ? AND also.value = ?)`,
  )
  return {
    // CROSS JOIN and not JOIN: SQLite keeps its order.
    from: `(SELECT session_id AS labelled, created_at AS labelled_at FROM session_labels WHERE tenant_id = ? AND name = ? AND value = ?)
      AS by_label CROSS JOIN sessions WHERE sessions.id = labelled${also.join('')}`,
    values: [tenantId, first.name, first.value, ...others.flatMap(({ name, value }) => [name, value])],
    order: ['labelled_at', 'labelled'],
  }
}
