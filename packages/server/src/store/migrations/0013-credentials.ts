/**
 * Credentials of sessions: their sealed values, which of them a session has, and which executions received some.
 */
import type { Dialect } from '../store.ts'

export function credentialsMigration(dialect: Dialect): readonly string[] {
  const bytes = dialect === 'sqlite' ? 'BLOB' : 'BYTEA'
  const clustered = dialect === 'sqlite' ? ' WITHOUT ROWID' : ''
  return [
    `CREATE TABLE credentials (
      session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      value ${bytes} NOT NULL,
      PRIMARY KEY (session_id, name)
    )${clustered}`,
    `ALTER TABLE sessions ADD COLUMN credentials TEXT`,
    `ALTER TABLE executions ADD COLUMN credentials TEXT`,
  ]
}
