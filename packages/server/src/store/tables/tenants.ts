/**
 * The table of tenants, and what each tenant holds at this moment.
 *
 * Stands beside the flow. Every change of a tenant names the version it was decided on; who comes second changes nothing. The
 * head of the tenant's audit chain lives in the same row and is moved by the audit alone.
 */
import { TENANT_STATES, TenantPolicy, TenantQuotas } from '@holdfast/protocol'
import type { TenantState } from '@holdfast/protocol'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'

export interface Tenant {
  readonly id: string
  readonly name: string
  readonly state: TenantState
  readonly policy: TenantPolicy
  readonly quotas: TenantQuotas
  readonly version: number
  readonly createdAt: number
}

/** What may change in a tenant's life. */
export type TenantChange = Partial<Pick<Tenant, 'state' | 'policy' | 'quotas'>>

const COLUMNS = 'id, name, state, policy, quotas, version, created_at'
/** As the index `sessions_open` has it, so that counting never touches a session that is over. */
const OPEN = `state NOT IN ('released', 'cancelled', 'expired', 'failed')`
const HOLDS_COMPUTE = `state IN ('pending', 'idle', 'active')`

/** `false` when a tenant with this id or name is there already. */
export async function insertTenant(transaction: Transaction, tenant: Tenant): Promise<boolean> {
  const inserted = await transaction.run(
    `INSERT INTO tenants (${COLUMNS}, audit_seq, audit_hash) VALUES (?, ?, ?, ?, ?, ?, ?, 0, '') ON CONFLICT DO NOTHING`,
    ...[tenant.id, tenant.name, tenant.state, JSON.stringify(tenant.policy), JSON.stringify(tenant.quotas)],
    ...[tenant.version, tenant.createdAt],
  )
  return inserted === 1
}

export async function findTenant(sql: Sql, id: string): Promise<Tenant | null> {
  const row = await sql.get(`SELECT ${COLUMNS} FROM tenants WHERE id = ?`, id)
  return row === undefined ? null : parse(row)
}

/** By its id or its name: a name has no `_`, and an id always has one. */
export async function findTenantByWord(sql: Sql, idOrName: string): Promise<Tenant | null> {
  const row = await sql.get(`SELECT ${COLUMNS} FROM tenants WHERE ${idOrName.includes('_') ? 'id' : 'name'} = ?`, idOrName)
  return row === undefined ? null : parse(row)
}

/** The same by its id, and nobody else changes the tenant or adds to what it holds before this transaction ends. */
export async function lockTenant(transaction: Transaction, id: string): Promise<Tenant | null> {
  const row = await transaction.get(`SELECT ${COLUMNS} FROM tenants WHERE id = ? ${transaction.forUpdate}`, id)
  return row === undefined ? null : parse(row)
}

/** In the order of their names, after the given one. */
export async function listTenants(sql: Sql, afterName: string, limit: number): Promise<readonly Tenant[]> {
  const rows = await sql.all(`SELECT ${COLUMNS} FROM tenants WHERE name > ? ORDER BY name LIMIT ?`, afterName, limit)
  return rows.map(parse)
}

/** Changes the tenant if it still is what was decided on; gives what it is now, or `null` when somebody was quicker. */
export async function updateTenant(transaction: Transaction, decidedOn: Tenant, change: TenantChange): Promise<Tenant | null> {
  const next: Tenant = { ...decidedOn, ...change, version: decidedOn.version + 1 }
  const changed = await transaction.run(
    `UPDATE tenants SET state = ?, policy = ?, quotas = ?, version = ? WHERE id = ? AND version = ?`,
    ...[next.state, JSON.stringify(next.policy), JSON.stringify(next.quotas), next.version, next.id, decidedOn.version],
  )
  return changed === 1 ? next : null
}

/** Tenants that are being terminated and have no open session left. */
export async function emptyEndedTenants(sql: Sql, limit: number): Promise<readonly string[]> {
  const text = `SELECT id FROM tenants WHERE state = 'terminating'
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.tenant_id = tenants.id AND sessions.${OPEN}) LIMIT ?`
  return (await sql.all(text, limit)).map((row) => new RowReader('tenants', row).text('id'))
}

/** Of tenants that say something about quotas themselves. */
export async function tenantQuotas(sql: Sql): Promise<ReadonlyMap<string, TenantQuotas>> {
  const rows = await sql.all(`SELECT id, quotas FROM tenants WHERE quotas <> '{}'`)
  return new Map(
    rows.map((row) => {
      const read = new RowReader('tenants', row)
      return [read.text('id'), read.json('quotas', TenantQuotas)] as const
    }),
  )
}

/** Every tenant, for what is done to each in turn. */
export async function tenantIds(sql: Sql): Promise<readonly string[]> {
  return (await sql.all(`SELECT id FROM tenants ORDER BY id`)).map((row) => new RowReader('tenants', row).text('id'))
}

/** How many sessions count towards each quota. */
export interface SessionCounts {
  readonly open: number
  readonly openOfOwner: number
  readonly compute: number
  readonly computeOfOwner: number
}

/** Counted from the sessions themselves, so that no number can drift from what exists. */
export async function countSessions(sql: Sql, tenantId: string, owner: string): Promise<SessionCounts> {
  const row = await sql.get(
    `SELECT count(*) AS open_all,
      count(*) FILTER (WHERE owner = ?) AS open_owner,
      count(*) FILTER (WHERE ${HOLDS_COMPUTE}) AS compute_all,
      count(*) FILTER (WHERE owner = ? AND ${HOLDS_COMPUTE}) AS compute_owner
    FROM sessions WHERE tenant_id = ? AND ${OPEN}`,
    ...[owner, owner, tenantId],
  )
  const read = new RowReader('sessions', row ?? {})
  return {
    open: read.number('open_all'),
    openOfOwner: read.number('open_owner'),
    compute: read.number('compute_all'),
    computeOfOwner: read.number('compute_owner'),
  }
}

function parse(row: Row): Tenant {
  const read = new RowReader('tenants', row)
  return {
    id: read.text('id'),
    name: read.text('name'),
    state: read.word('state', TENANT_STATES),
    policy: read.json('policy', TenantPolicy),
    quotas: read.json('quotas', TenantQuotas),
    version: read.number('version'),
    createdAt: read.number('created_at'),
  }
}
