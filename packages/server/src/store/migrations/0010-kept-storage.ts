/**
 * How much each tenant keeps, counted in periods, and an index that finds the oldest ended executions of a tenant.
 *
 * What is there already is counted as one period, which ends with the newest of it.
 */
import type { Dialect } from '../store.ts'

export function keptStorageMigration(dialect: Dialect): readonly string[] {
  const clustered = dialect === 'sqlite' ? ' WITHOUT ROWID' : ''
  const least = dialect === 'sqlite' ? 'MIN' : 'LEAST'
  return [
    `CREATE TABLE kept_storage (
      tenant_id TEXT NOT NULL,
      kind TEXT NOT NULL,
      until BIGINT NOT NULL,
      server_id TEXT NOT NULL,
      amount BIGINT NOT NULL,
      PRIMARY KEY (tenant_id, kind, until, server_id)
    )${clustered}`,
    `CREATE INDEX executions_ended ON executions (tenant_id, ended_at, id) WHERE ended_at IS NOT NULL`,
    `INSERT INTO kept_storage (tenant_id, kind, until, server_id, amount)
      SELECT tenant_id, 'output', MAX(ended_at) + 1, '', SUM(1024 + COALESCE(LENGTH(output), ${least}(output_seq, 2097152)))
      FROM executions WHERE ended_at IS NOT NULL GROUP BY tenant_id`,
    `INSERT INTO kept_storage (tenant_id, kind, until, server_id, amount)
      SELECT tenant_id, 'events', MAX(at) + 1, '', COUNT(*) FROM events GROUP BY tenant_id`,
    `INSERT INTO kept_storage (tenant_id, kind, until, server_id, amount)
      SELECT tenant_id, 'answers', MAX(expires_at) + 1, '', SUM(512 + COALESCE(LENGTH(answer), 0)) FROM requests GROUP BY tenant_id`,
  ]
}
