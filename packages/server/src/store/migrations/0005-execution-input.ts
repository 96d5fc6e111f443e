/**
 * What an execution takes after its start, whether somebody is at its terminal, and its name within the session's history.
 */
export function executionInputMigration(): readonly string[] {
  return [
    `ALTER TABLE executions ADD COLUMN input TEXT NOT NULL DEFAULT 'none'`,
    `ALTER TABLE executions ADD COLUMN attended BIGINT NOT NULL DEFAULT 0`,
    `CREATE INDEX executions_attended ON executions (session_id) WHERE attended = 1 AND status = 'running'`,
    `CREATE INDEX executions_of_name ON executions (session_id, name, started_at, id) WHERE name IS NOT NULL`,
  ]
}
