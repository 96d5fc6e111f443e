/**
 * MCP servers of tenants, and which process serves each of them where.
 */
import type { Dialect } from '../store.ts'

export function mcpServersMigration(dialect: Dialect): readonly string[] {
  const bytes = dialect === 'sqlite' ? 'BLOB' : 'BYTEA'
  const clustered = dialect === 'sqlite' ? ' WITHOUT ROWID' : ''
  return [
    `CREATE TABLE mcp_servers (
      tenant_id TEXT NOT NULL REFERENCES tenants (id),
      name TEXT NOT NULL,
      scope TEXT NOT NULL,
      config ${bytes} NOT NULL,
      version BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (tenant_id, name)
    )`,
    `CREATE TABLE mcp_runs (
      tenant_id TEXT NOT NULL,
      server TEXT NOT NULL,
      place TEXT NOT NULL,
      configured_at BIGINT NOT NULL,
      session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      execution_id TEXT NOT NULL,
      handshake TEXT,
      started_at BIGINT NOT NULL,
      ready_at BIGINT,
      PRIMARY KEY (tenant_id, server, place)
    )${clustered}`,
    `CREATE INDEX mcp_runs_of_session ON mcp_runs (session_id)`,
  ]
}
