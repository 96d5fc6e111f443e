/**
 * The table of MCP servers: for each tenant, by name, how each is started and who shares it.
 *
 * Stands beside the flow. Configurations are sealed: commands and environments are secrets at rest.
 */
import { MCP_SCOPES } from '@holdfast/protocol/mcp'
import type { McpScope } from '@holdfast/protocol/mcp'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'

export interface McpServerRow {
  readonly tenantId: string
  readonly name: string
  readonly scope: McpScope
  /** Sealed. */
  readonly config: Uint8Array
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

const COLUMNS = 'tenant_id, name, scope, config, version, created_at, updated_at'

function parse(row: Row): McpServerRow {
  const read = new RowReader('mcp_servers', row)
  return {
    tenantId: read.text('tenant_id'),
    name: read.text('name'),
    scope: read.word('scope', MCP_SCOPES),
    config: read.bytesOrNull('config') ?? new Uint8Array(),
    version: read.number('version'),
    createdAt: read.number('created_at'),
    updatedAt: read.number('updated_at'),
  }
}

export async function insertMcpServer(transaction: Transaction, row: McpServerRow): Promise<void> {
  const values = [row.tenantId, row.name, row.scope, row.config, row.version, row.createdAt, row.updatedAt]
  await transaction.run(`INSERT INTO mcp_servers (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`, ...values)
}

/** `false` when somebody was quicker. */
export async function updateMcpServer(
  transaction: Transaction,
  before: McpServerRow,
  { scope, config, version, updatedAt }: McpServerRow,
): Promise<boolean> {
  const text = `UPDATE mcp_servers SET scope = ?, config = ?, version = ?, updated_at = ? WHERE tenant_id = ? AND name = ? AND version = ?`
  return (await transaction.run(text, scope, config, version, updatedAt, before.tenantId, before.name, before.version)) === 1
}

export async function deleteMcpServer(transaction: Transaction, { tenantId, name, version }: McpServerRow): Promise<boolean> {
  const text = 'DELETE FROM mcp_servers WHERE tenant_id = ? AND name = ? AND version = ?'
  return (await transaction.run(text, tenantId, name, version)) === 1
}

export async function lockMcpServer(transaction: Transaction, tenantId: string, name: string): Promise<McpServerRow | null> {
  const text = `SELECT ${COLUMNS} FROM mcp_servers WHERE tenant_id = ? AND name = ? ${transaction.forUpdate}`
  const row = await transaction.get(text, tenantId, name)
  return row === undefined ? null : parse(row)
}

export async function findMcpServer(sql: Sql, tenantId: string, name: string): Promise<McpServerRow | null> {
  const row = await sql.get(`SELECT ${COLUMNS} FROM mcp_servers WHERE tenant_id = ? AND name = ?`, tenantId, name)
  return row === undefined ? null : parse(row)
}

/** In the order of their names. */
export async function mcpServersOfTenant(sql: Sql, tenantId: string): Promise<readonly McpServerRow[]> {
  return (await sql.all(`SELECT ${COLUMNS} FROM mcp_servers WHERE tenant_id = ? ORDER BY name`, tenantId)).map(parse)
}
