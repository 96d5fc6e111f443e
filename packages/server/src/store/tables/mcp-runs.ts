/**
 * The table of MCP servers that run: which process serves one in which place, and what it said when it was greeted.
 *
 * Stands beside the flow. A server that starts again finds here what an earlier life of it left running, and greets nobody twice.
 */
import { z } from 'zod'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'

export interface McpRunKey {
  readonly tenantId: string
  readonly server: string
  /** Who shares it: a session, a pipeline, the tenant, or everybody. */
  readonly place: string
}

export interface McpRunRow extends McpRunKey {
  /** When the configuration that it was started with was written: no two of one name have the same. */
  readonly configuredAt: number
  readonly sessionId: string
  readonly executionId: string
  /** `null` until it has answered the first words. */
  readonly handshake: Readonly<Record<string, unknown>> | null
  readonly startedAt: number
  readonly readyAt: number | null
}

const COLUMNS = 'tenant_id, server, place, configured_at, session_id, execution_id, handshake, started_at, ready_at'
const Said = z.record(z.string(), z.unknown())

function parse(row: Row): McpRunRow {
  const read = new RowReader('mcp_runs', row)
  return {
    tenantId: read.text('tenant_id'),
    server: read.text('server'),
    place: read.text('place'),
    configuredAt: read.number('configured_at'),
    sessionId: read.text('session_id'),
    executionId: read.text('execution_id'),
    handshake: read.textOrNull('handshake') === null ? null : read.json('handshake', Said),
    startedAt: read.number('started_at'),
    readyAt: read.numberOrNull('ready_at'),
  }
}

/** Takes the place of the one before. */
export async function putMcpRun(transaction: Transaction, row: McpRunRow): Promise<void> {
  await deleteMcpRun(transaction, row)
  const said = row.handshake === null ? null : JSON.stringify(row.handshake)
  const values = [row.tenantId, row.server, row.place, row.configuredAt, row.sessionId, row.executionId, said, row.startedAt, row.readyAt]
  await transaction.run(`INSERT INTO mcp_runs (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, ...values)
}

/** With an execution's id: only if it is still that one's. */
export async function deleteMcpRun(transaction: Transaction, { tenantId, server, place }: McpRunKey, executionId?: string): Promise<void> {
  const text = 'DELETE FROM mcp_runs WHERE tenant_id = ? AND server = ? AND place = ?'
  if (executionId === undefined) await transaction.run(text, tenantId, server, place)
  else await transaction.run(`${text} AND execution_id = ?`, tenantId, server, place, executionId)
}

export async function findMcpRun(sql: Sql, { tenantId, server, place }: McpRunKey): Promise<McpRunRow | null> {
  const text = `SELECT ${COLUMNS} FROM mcp_runs WHERE tenant_id = ? AND server = ? AND place = ?`
  const row = await sql.get(text, tenantId, server, place)
  return row === undefined ? null : parse(row)
}

export async function mcpRunsOfServer(sql: Sql, tenantId: string, server: string): Promise<readonly McpRunRow[]> {
  const text = `SELECT ${COLUMNS} FROM mcp_runs WHERE tenant_id = ? AND server = ? ORDER BY place`
  return (await sql.all(text, tenantId, server)).map(parse)
}

/** Of the sessions that this server hosts. */
export async function hostedMcpRuns(sql: Sql, serverId: string): Promise<readonly McpRunRow[]> {
  const columns = COLUMNS.replaceAll(/\w+/g, (name) => `mcp_runs.${name} AS ${name}`)
  const text = `SELECT ${columns} FROM mcp_runs JOIN sessions ON sessions.id = mcp_runs.session_id WHERE sessions.server_id = ?`
  return (await sql.all(text, serverId)).map(parse)
}
