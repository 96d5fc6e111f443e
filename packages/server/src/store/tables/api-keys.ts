/**
 * The table of API keys: hashes and what each key stands for, never a key.
 *
 * Stands beside the flow. A key changes once in its life, when it is revoked.
 */
import { GivenKeyUsers, Groups, KEY_KINDS, ROLES } from '@holdfast/protocol'
import type { KeyKind, Role } from '@holdfast/protocol'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'

export interface ApiKey {
  readonly id: string
  readonly tenantId: string
  /** SHA-256 of the key, in hexadecimal digits. */
  readonly hash: string
  readonly name: string
  readonly kind: KeyKind
  readonly subject: string
  readonly role: Role
  readonly groups: readonly string[]
  /** Whom a service key speaks for; `null` for a user key. */
  readonly users: GivenKeyUsers | null
  readonly createdAt: number
  readonly createdBy: string
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Where a page of keys ended. */
export type KeyPosition = Pick<ApiKey, 'createdAt' | 'id'>

const COLUMNS = 'id, tenant_id, hash, name, kind, subject, role, member_of, created_at, created_by, expires_at, revoked_at, users'

export async function insertKey(transaction: Transaction, key: ApiKey): Promise<void> {
  await transaction.run(
    `INSERT INTO api_keys (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[key.id, key.tenantId, key.hash, key.name, key.kind, key.subject, key.role, JSON.stringify(key.groups)],
    ...[key.createdAt, key.createdBy, key.expiresAt, key.revokedAt, key.users === null ? null : JSON.stringify(key.users)],
  )
}

/** Without a tenant: the tenant of a request is what the key says. */
export async function findKeyByHash(sql: Sql, hash: string): Promise<ApiKey | null> {
  const row = await sql.get(`SELECT ${COLUMNS} FROM api_keys WHERE hash = ?`, hash)
  return row === undefined ? null : parse(row)
}

/** Without a tenant, for an id that the server wrote down itself: an administrator's key works in tenants that are not its own. */
export async function findKeyById(sql: Sql, id: string): Promise<ApiKey | null> {
  const row = await sql.get(`SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, id)
  return row === undefined ? null : parse(row)
}

export async function findKey(sql: Sql, tenantId: string, id: string): Promise<ApiKey | null> {
  const row = await sql.get(`SELECT ${COLUMNS} FROM api_keys WHERE tenant_id = ? AND id = ?`, tenantId, id)
  return row === undefined ? null : parse(row)
}

/** Oldest first, after the given position. */
export async function listKeys(sql: Sql, tenantId: string, after: KeyPosition | null, limit: number): Promise<readonly ApiKey[]> {
  const { createdAt, id } = after ?? { createdAt: -1, id: '' }
  const rows = await sql.all(
    `SELECT ${COLUMNS} FROM api_keys WHERE tenant_id = ? AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?`,
    ...[tenantId, createdAt, id, limit],
  )
  return rows.map(parse)
}

/** Service keys of a tenant that are not revoked. */
export async function serviceKeys(sql: Sql, tenantId: string): Promise<readonly ApiKey[]> {
  const text = `SELECT ${COLUMNS} FROM api_keys WHERE tenant_id = ? AND kind = 'service' AND revoked_at IS NULL`
  return (await sql.all(text, tenantId)).map(parse)
}

/** Names that somebody has: one, or all that begin alike. */
export type Names = { readonly name: string } | { readonly prefix: string }

/** Whether one of these subjects has a key that is good now, or has ever owned a session. */
export async function isInUse(sql: Sql, tenantId: string, names: Names, now: number): Promise<boolean> {
  const values = 'name' in names ? [names.name] : [Array.from(names.prefix).length, names.prefix]
  const on = (column: string) => ('name' in names ? `${column} = ?` : `substr(${column}, 1, ?) = ?`)
  const isGood = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)'
  const keys = `SELECT 1 AS n FROM api_keys WHERE tenant_id = ? AND ${isGood} AND ${on('subject')} LIMIT 1`
  if ((await sql.get(keys, tenantId, now, ...values)) !== undefined) return true
  return (await sql.get(`SELECT 1 AS n FROM sessions WHERE tenant_id = ? AND ${on('owner')} LIMIT 1`, tenantId, ...values)) !== undefined
}

export async function ownsSessions(sql: Sql, tenantId: string, group: string): Promise<boolean> {
  return (await sql.get(`SELECT 1 AS n FROM sessions WHERE tenant_id = ? AND owner_group = ? LIMIT 1`, tenantId, group)) !== undefined
}

/** `false` when it was revoked before, which then stands. */
export async function revokeKey(transaction: Transaction, tenantId: string, id: string, at: number): Promise<boolean> {
  const changed = await transaction.run(
    `UPDATE api_keys SET revoked_at = ? WHERE tenant_id = ? AND id = ? AND revoked_at IS NULL`,
    ...[at, tenantId, id],
  )
  return changed === 1
}

function parse(row: Row): ApiKey {
  const read = new RowReader('api_keys', row)
  return {
    id: read.text('id'),
    tenantId: read.text('tenant_id'),
    hash: read.text('hash'),
    name: read.text('name'),
    kind: read.word('kind', KEY_KINDS),
    subject: read.text('subject'),
    role: read.word('role', ROLES),
    groups: read.json('member_of', Groups),
    users: read.jsonOrNull('users', GivenKeyUsers),
    createdAt: read.number('created_at'),
    createdBy: read.text('created_by'),
    expiresAt: read.numberOrNull('expires_at'),
    revokedAt: read.numberOrNull('revoked_at'),
  }
}
