/**
 * Profiles and pipelines of tenants, and a counter that grows with every change of any of them.
 *
 * Servers on one database poll the counter, so that each drops what it has cached without a query per request.
 */
import type { Dialect } from '../store.ts'

export function definitionsMigration(dialect: Dialect): readonly string[] {
  const clustered = dialect === 'sqlite' ? ' WITHOUT ROWID' : ''
  return [
    `CREATE TABLE definitions (
      tenant_id TEXT NOT NULL REFERENCES tenants (id),
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      settings TEXT NOT NULL,
      profile TEXT,
      version BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL,
      PRIMARY KEY (tenant_id, kind, name)
    )${clustered}`,
    `CREATE INDEX definitions_of_profile ON definitions (tenant_id, profile) WHERE profile IS NOT NULL`,
    `CREATE TABLE definition_changes (id BIGINT PRIMARY KEY, count BIGINT NOT NULL)`,
    `INSERT INTO definition_changes (id, count) VALUES (1, 0)`,
  ]
}
