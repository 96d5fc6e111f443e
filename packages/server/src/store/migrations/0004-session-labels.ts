/**
 * Labels of sessions as rows of their own, so that a list by label costs the same however many sessions have none; and sandboxes in the order
 * of their making.
 */
import type { Dialect } from '../store.ts'

export function sessionLabelsMigration(dialect: Dialect): readonly string[] {
  const clustered = dialect === 'sqlite' ? ' WITHOUT ROWID' : ''
  const pairs = dialect === 'sqlite' ? 'json_each(sessions.labels)' : 'json_each_text(sessions.labels::json)'
  return [
    `CREATE TABLE session_labels (
      session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      value TEXT NOT NULL,
      tenant_id TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      PRIMARY KEY (session_id, name)
    )${clustered}`,
    `CREATE INDEX session_labels_of_value ON session_labels (tenant_id, name, value, created_at, session_id)`,
    `INSERT INTO session_labels (session_id, name, value, tenant_id, created_at)
      SELECT sessions.id, pair.key, pair.value, sessions.tenant_id, sessions.created_at FROM sessions, ${pairs} AS pair`,
    `CREATE INDEX sandboxes_of_tenant ON sandboxes (tenant_id, created_at, id)`,
  ]
}
