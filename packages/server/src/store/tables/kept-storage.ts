/**
 * The table of how much each tenant keeps: one row for each kind, period and server, so that no two servers write the same row.
 */
import { RowReader } from '../row-reader.ts'
import type { Sql, Transaction } from '../store.ts'

/** `output`: bytes of execution records with their output; `events`: a number; `answers`: bytes of kept answers to repeated requests. */
export const KEPT_KINDS = ['output', 'events', 'answers'] as const
export type KeptKind = (typeof KEPT_KINDS)[number]

export interface KeptAmount {
  readonly tenantId: string
  readonly kind: KeptKind
  readonly amount: number
}

export interface KeptChange extends KeptAmount {
  /** The end of the period. */
  readonly until: number
  readonly serverId: string
}

/** Adds to what is there; a negative amount takes away. */
export async function changeKept(transaction: Transaction, { tenantId, kind, until, serverId, amount }: KeptChange): Promise<void> {
  await transaction.run(
    `INSERT INTO kept_storage (tenant_id, kind, until, server_id, amount) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (tenant_id, kind, until, server_id) DO UPDATE SET amount = kept_storage.amount + excluded.amount`,
    ...[tenantId, kind, until, serverId, amount],
  )
}

/** Of each tenant, all periods and servers together. */
export async function keptAmounts(sql: Sql): Promise<readonly KeptAmount[]> {
  const rows = await sql.all(`SELECT tenant_id, kind, CAST(SUM(amount) AS BIGINT) AS amount FROM kept_storage GROUP BY tenant_id, kind`)
  return rows.map((row) => {
    const read = new RowReader('kept_storage', row)
    return { tenantId: read.text('tenant_id'), kind: read.word('kind', KEPT_KINDS), amount: Math.max(0, read.number('amount')) }
  })
}

/** Periods whose data is gone by age. */
export async function dropKept(transaction: Transaction, kind: KeptKind, until: number): Promise<void> {
  await transaction.run(`DELETE FROM kept_storage WHERE kind = ? AND until <= ?`, kind, until)
}
