/**
 * The table of requests that may be sent again: claimed once, answered once, dropped after their time.
 *
 * Stands beside the flow. Only the life of a server that claimed a request answers it; whoever takes it over names it as it was read.
 */
import { RowReader } from '../row-reader.ts'
import type { Sql, Transaction } from '../store.ts'

export interface RequestRow {
  /** A hash of who sent it, where to, and with which key. */
  readonly id: string
  readonly tenantId: string
  /** A hash of what was sent. */
  readonly fingerprint: string
  /** The life of a server that is at it. */
  readonly life: string
  readonly aliveUntil: number
  /** Sealed; `null` while somebody is at it. */
  readonly answer: Uint8Array | null
  readonly expiresAt: number
}

/** `false` when it is there already. */
export async function claimRequest(transaction: Transaction, row: RequestRow): Promise<boolean> {
  const inserted = await transaction.run(
    `INSERT INTO requests (id, tenant_id, fingerprint, life, alive_until, answer, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING`,
    ...[row.id, row.tenantId, row.fingerprint, row.life, row.aliveUntil, row.answer, row.expiresAt],
  )
  return inserted === 1
}

export async function lockRequest(transaction: Transaction, id: string): Promise<RequestRow | null> {
  const row = await transaction.get(`SELECT * FROM requests WHERE id = ? ${transaction.forUpdate}`, id)
  if (row === undefined) return null
  const read = new RowReader('requests', row)
  return {
    id: read.text('id'),
    tenantId: read.text('tenant_id'),
    fingerprint: read.text('fingerprint'),
    life: read.text('life'),
    aliveUntil: read.number('alive_until'),
    answer: read.bytesOrNull('answer'),
    expiresAt: read.number('expires_at'),
  }
}

/** In place of one whose server died or whose time is over; it was locked before. */
export async function takeOverRequest(transaction: Transaction, before: RequestRow, row: RequestRow): Promise<boolean> {
  const changed = await transaction.run(
    `UPDATE requests SET fingerprint = ?, life = ?, alive_until = ?, answer = NULL, expires_at = ? WHERE id = ? AND life = ?`,
    ...[row.fingerprint, row.life, row.aliveUntil, row.expiresAt, before.id, before.life],
  )
  return changed === 1
}

/** `false` when another life has taken it over. */
export async function finishRequest(
  transaction: Transaction,
  id: string,
  life: string,
  answer: Uint8Array,
  expiresAt: number,
): Promise<boolean> {
  const text = `UPDATE requests SET answer = ?, expires_at = ? WHERE id = ? AND life = ? AND answer IS NULL`
  return (await transaction.run(text, answer, expiresAt, id, life)) === 1
}

/** As if it had never been sent. */
export async function forgetRequest(transaction: Transaction, id: string, life: string): Promise<boolean> {
  return (await transaction.run(`DELETE FROM requests WHERE id = ? AND life = ? AND answer IS NULL`, id, life)) === 1
}

export async function renewRequests(transaction: Transaction, life: string, aliveUntil: number): Promise<number> {
  return transaction.run(`UPDATE requests SET alive_until = ? WHERE life = ? AND answer IS NULL`, aliveUntil, life)
}

export async function deleteExpiredRequests(transaction: Transaction, now: number, limit: number): Promise<number> {
  // What another server is deleting at this moment is left to it.
  const skip = transaction.dialect === 'sqlite' ? '' : 'FOR UPDATE SKIP LOCKED'
  const old = `SELECT id FROM requests WHERE expires_at <= ? ORDER BY expires_at LIMIT ? ${skip}`
  return transaction.run(`DELETE FROM requests WHERE id IN (${old})`, now, limit)
}

/** How many there are, for tests and metrics. */
export async function countRequests(sql: Sql): Promise<number> {
  const row = await sql.get('SELECT count(*) AS n FROM requests')
  return row === undefined ? 0 : new RowReader('requests', row).number('n')
}
