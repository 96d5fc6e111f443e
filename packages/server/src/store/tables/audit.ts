/**
 * The table of audit records, and the heads of their chains in the rows of tenants and sessions.
 *
 * Stands beside the flow; `sessions/audit` gives the records their meaning. Records are only ever appended; what is removed after its
 * time goes by whole chains, and a record says so.
 */
import { HoldfastError } from '@holdfast/protocol'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, SqlValue, Transaction } from '../store.ts'
import type { Visible } from './sessions.ts'

export interface AuditRow {
  readonly chain: string
  readonly seq: number
  /** Only of a record that is looked up by it: an anchor. Any other is known by its chain and place. */
  readonly id: string | null
  readonly tenantId: string
  readonly at: number
  readonly body: string
  readonly previous: string
  readonly hash: string
}

export async function insertAudit(transaction: Transaction, row: AuditRow): Promise<void> {
  await transaction.run(
    'INSERT INTO audit (chain, seq, id, tenant_id, at, body, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ...[row.chain, row.seq, row.id, row.tenantId, row.at, row.body, row.previous, row.hash],
  )
}

/** Locks the tenant's row until the transaction ends. */
export async function lockTenantHead(transaction: Transaction, tenantId: string): Promise<{ readonly seq: number; readonly hash: string }> {
  const row = await transaction.get(`SELECT audit_seq, audit_hash FROM tenants WHERE id = ? ${transaction.forUpdate}`, tenantId)
  if (row === undefined) throw new HoldfastError('internal', `there is no tenant ${tenantId} to write an audit record for`)
  const read = new RowReader('tenants', row)
  return { seq: read.number('audit_seq'), hash: read.text('audit_hash') }
}

export async function moveTenantHead(transaction: Transaction, tenantId: string, seq: number, hash: string): Promise<void> {
  const moved = await transaction.run(
    'UPDATE tenants SET audit_seq = ?, audit_hash = ? WHERE id = ? AND audit_seq = ?',
    ...[seq, hash, tenantId, seq - 1],
  )
  if (moved !== 1) throw new HoldfastError('internal', `the audit chain of tenant ${tenantId} has moved past ${seq - 1} under a lock`)
}

/** The place of a record in the order of the whole table, as it is stored. */
export interface AuditCursor {
  readonly chain: SqlValue
  readonly seq: SqlValue
}

export const FIRST_AUDIT: AuditCursor = { chain: '', seq: 0 }

/** A record as it was found. `row` is `null` when a column holds something of another kind than was ever written. */
export interface FoundAudit {
  readonly cursor: AuditCursor
  readonly chain: string
  readonly seq: number
  readonly row: AuditRow | null
}

/** Records of all chains after a place, chain by chain. */
export async function auditAfter(sql: Sql, { chain, seq }: AuditCursor, limit: number): Promise<readonly FoundAudit[]> {
  const rows = await sql.all('SELECT * FROM audit WHERE (chain, seq) > (?, ?) ORDER BY chain, seq LIMIT ?', chain, seq, limit)
  return rows.map((row) => {
    const cursor = { chain: row['chain'] ?? null, seq: row['seq'] ?? null }
    return { cursor, chain: String(cursor.chain), seq: Number(cursor.seq), row: auditOf(row) }
  })
}

/** Newest first, of one chain or of all of a tenant's; for somebody who sees a part of the tenant, those of visible sessions. */
export async function listAudit(
  sql: Sql,
  visible: Visible,
  chain: string | null,
  after: Pick<AuditRow, 'at' | 'chain' | 'seq'> | null,
  limit: number,
): Promise<readonly AuditRow[]> {
  const seen = visibleChains(visible)
  const ofChain = chain === null ? '' : 'AND chain = ?'
  const from = after === null ? '' : 'AND (at, chain, seq) < (?, ?, ?)'
  const rows = await sql.all(
    `SELECT * FROM audit WHERE ${seen.text} ${ofChain} ${from} ORDER BY at DESC, chain DESC, seq DESC LIMIT ?`,
    ...[...seen.values, ...(chain === null ? [] : [chain]), ...(after === null ? [] : [after.at, after.chain, after.seq]), limit],
  )
  return rows.map(readAudit)
}

export async function findAudit(sql: Sql, id: string): Promise<AuditRow | null> {
  const row = await sql.get('SELECT * FROM audit WHERE id = ?', id)
  return row === undefined ? null : auditOf(row)
}

export async function hashAt(sql: Sql, chain: string, seq: number): Promise<string | null> {
  const row = await sql.get('SELECT hash FROM audit WHERE chain = ? AND seq = ?', chain, seq)
  return row === undefined ? null : String(row['hash'])
}

export interface HashSearch {
  /** Where the hash stands in the chain; `null`: not in this step. */
  readonly found: number | null
  /** Where the next step begins; `null`: this was the last one. */
  readonly next: number | null
}

/** One step of a search through a chain that has no index for it: reads `limit` records after `after`, or from the beginning. */
export async function seqOfHash(sql: Sql, chain: string, hash: string, after: number | null, limit: number): Promise<HashSearch> {
  const [from, values] = after === null ? ['', [chain]] : ['AND seq > ?', [chain, after]]
  const rows = await sql.all(`SELECT seq, hash FROM audit WHERE chain = ? ${from} ORDER BY seq LIMIT ?`, ...values, limit)
  const found = rows.find((row) => row['hash'] === hash)
  const last = rows.length < limit ? undefined : rows.at(-1)
  return { found: found === undefined ? null : Number(found['seq']), next: last === undefined ? null : Number(last['seq']) }
}

export interface StoredHead {
  readonly seq: number
  readonly hash: string
  /** Nothing may follow: the session is over. */
  readonly isClosed: boolean
}

/** The head in the row of the session or tenant that the chain belongs to; `null` when there is none. */
export async function storedHead(sql: Sql, tenantId: string, chain: string): Promise<StoredHead | null> {
  const row =
    chain === tenantId
      ? await sql.get(`SELECT audit_seq, audit_hash, '' AS state FROM tenants WHERE id = ?`, tenantId)
      : await sql.get('SELECT audit_seq, audit_hash, state FROM sessions WHERE id = ? AND tenant_id = ?', chain, tenantId)
  if (row === undefined) return null
  const isClosed = OVER.includes(String(row['state']))
  return { seq: Number(row['audit_seq']), hash: String(row['audit_hash']), isClosed }
}

export interface AuditedRow {
  readonly id: string
  /** The row names an audit head, and the chain has no record. */
  readonly hasVanished: boolean
}

/** Sessions or tenants after an id, in the order of their ids: the cost is bounded by `limit`, however few chains have vanished. */
export async function auditedRows(sql: Sql, table: 'sessions' | 'tenants', after: string, limit: number): Promise<readonly AuditedRow[]> {
  const rows = await sql.all(
    `SELECT id, CASE WHEN audit_seq <> 0 AND NOT EXISTS (SELECT 1 FROM audit WHERE chain = ${table}.id) THEN 1 ELSE 0 END AS has_vanished
      FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`,
    after,
    limit,
  )
  return rows.map((row) => ({ id: String(row['id']), hasVanished: Number(row['has_vanished']) === 1 }))
}

/** Removes up to `limit` records of a chain, from its beginning; gives how many. */
export async function deleteAuditOf(transaction: Transaction, chain: string, limit: number): Promise<number> {
  const first = 'SELECT seq FROM audit WHERE chain = ? ORDER BY seq LIMIT ?'
  return await transaction.run(`DELETE FROM audit WHERE chain = ? AND seq IN (${first})`, chain, chain, limit)
}

const OVER = ['released', 'cancelled', 'expired', 'failed']

function visibleChains({ tenantId, owner, groups }: Visible): { readonly text: string; readonly values: readonly string[] } {
  if (owner === null) return { text: 'tenant_id = ?', values: [tenantId] }
  const ofGroups = groups.length === 0 ? '' : ` OR owner_group IN (${groups.map(() => '?').join(', ')})`
  return {
    text: `tenant_id = ? AND chain IN (SELECT id FROM sessions WHERE tenant_id = ? AND (owner = ?${ofGroups}))`,
    values: [tenantId, tenantId, owner, ...groups],
  }
}

function auditOf(row: Row): AuditRow | null {
  try {
    return readAudit(row)
  } catch {
    return null
  }
}

function readAudit(row: Row): AuditRow {
  const read = new RowReader('audit', row)
  return {
    chain: read.text('chain'),
    seq: read.number('seq'),
    id: read.textOrNull('id'),
    tenantId: read.text('tenant_id'),
    at: read.number('at'),
    body: read.text('body'),
    previous: read.text('previous'),
    hash: read.text('hash'),
  }
}
