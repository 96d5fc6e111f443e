/**
 * The table of definitions: profiles and pipelines that tenants store.
 *
 * Every change names the version that it was decided on, and adds one to the counter that servers on this database poll.
 */
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'

export const DEFINITION_KINDS = ['profile', 'pipeline'] as const
export type DefinitionKind = (typeof DEFINITION_KINDS)[number]

export interface DefinitionRow {
  readonly tenantId: string
  readonly kind: DefinitionKind
  readonly name: string
  /** JSON, as the caller wrote it. */
  readonly settings: string
  /** The profile that a pipeline names. */
  readonly profile: string | null
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

const COLUMNS = 'tenant_id, kind, name, settings, profile, version, created_at, updated_at'

/** `false` when the tenant has one of this name. */
export async function insertDefinition(transaction: Transaction, row: DefinitionRow): Promise<boolean> {
  const inserted = await transaction.run(
    `INSERT INTO definitions (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ...[row.tenantId, row.kind, row.name, row.settings, row.profile, row.version, row.createdAt, row.updatedAt],
  )
  return inserted === 1 && (await countChange(transaction))
}

/** `false` when it is no longer what was decided on. */
export async function updateDefinition(transaction: Transaction, before: DefinitionRow, after: DefinitionRow): Promise<boolean> {
  const changed = await transaction.run(
    `UPDATE definitions SET settings = ?, profile = ?, version = ?, updated_at = ?
    WHERE tenant_id = ? AND kind = ? AND name = ? AND version = ?`,
    ...[after.settings, after.profile, after.version, after.updatedAt, before.tenantId, before.kind, before.name, before.version],
  )
  return changed === 1 && (await countChange(transaction))
}

export async function deleteDefinition(transaction: Transaction, { tenantId, kind, name, version }: DefinitionRow): Promise<boolean> {
  const text = 'DELETE FROM definitions WHERE tenant_id = ? AND kind = ? AND name = ? AND version = ?'
  return (await transaction.run(text, tenantId, kind, name, version)) === 1 && (await countChange(transaction))
}

export async function findDefinition(sql: Sql, tenantId: string, kind: DefinitionKind, name: string): Promise<DefinitionRow | null> {
  const row = await sql.get(`SELECT ${COLUMNS} FROM definitions WHERE tenant_id = ? AND kind = ? AND name = ?`, tenantId, kind, name)
  return row === undefined ? null : parse(row)
}

/** In the order of their names, after the given one. */
export async function listDefinitions(
  sql: Sql,
  tenantId: string,
  kind: DefinitionKind,
  afterName: string,
  limit: number,
): Promise<readonly DefinitionRow[]> {
  const text = `SELECT ${COLUMNS} FROM definitions WHERE tenant_id = ? AND kind = ? AND name > ? ORDER BY name LIMIT ?`
  return (await sql.all(text, tenantId, kind, afterName, limit)).map(parse)
}

export async function countDefinitions(sql: Sql, tenantId: string, kind: DefinitionKind): Promise<number> {
  const row = await sql.get('SELECT count(*) AS found FROM definitions WHERE tenant_id = ? AND kind = ?', tenantId, kind)
  return new RowReader('definitions', row ?? {}).number('found')
}

/** Names of some pipelines that name this profile. */
export async function pipelinesWithProfile(sql: Sql, tenantId: string, profile: string, limit: number): Promise<readonly string[]> {
  const text = 'SELECT name FROM definitions WHERE tenant_id = ? AND profile = ? ORDER BY name LIMIT ?'
  return (await sql.all(text, tenantId, profile, limit)).map((row) => new RowReader('definitions', row).text('name'))
}

/** How many changes there were on this database. */
export async function definitionChanges(sql: Sql): Promise<number> {
  const row = await sql.get('SELECT count FROM definition_changes WHERE id = 1')
  return new RowReader('definition_changes', row ?? {}).number('count')
}

async function countChange(transaction: Transaction): Promise<true> {
  await transaction.run('UPDATE definition_changes SET count = count + 1 WHERE id = 1')
  return true
}

function parse(row: Row): DefinitionRow {
  const read = new RowReader('definitions', row)
  return {
    tenantId: read.text('tenant_id'),
    kind: read.word('kind', DEFINITION_KINDS),
    name: read.text('name'),
    settings: read.text('settings'),
    profile: read.textOrNull('profile'),
    version: read.number('version'),
    createdAt: read.number('created_at'),
    updatedAt: read.number('updated_at'),
  }
}
