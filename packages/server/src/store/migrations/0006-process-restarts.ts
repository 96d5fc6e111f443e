/**
 * Which processes are started again when they end, and up to where the output of a process was taken.
 */
import type { Dialect } from '../store.ts'

export function processRestartsMigration(dialect: Dialect): readonly string[] {
  const bytes = dialect === 'sqlite' ? 'BLOB' : 'BYTEA'
  const clustered = dialect === 'sqlite' ? ' WITHOUT ROWID' : ''
  return [
    `CREATE TABLE process_restarts (
      session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      policy TEXT NOT NULL,
      max_restarts BIGINT,
      backoff_ms BIGINT NOT NULL,
      restarts BIGINT NOT NULL,
      in_a_row BIGINT NOT NULL,
      command ${bytes},
      PRIMARY KEY (session_id, name)
    )${clustered}`,
    `CREATE INDEX process_restarts_kept ON process_restarts (session_id) WHERE command IS NOT NULL`,
    `CREATE TABLE process_places (
      session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      execution_id TEXT NOT NULL,
      seq BIGINT NOT NULL,
      PRIMARY KEY (session_id, name)
    )${clustered}`,
  ]
}
