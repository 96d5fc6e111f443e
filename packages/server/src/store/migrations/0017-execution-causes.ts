/**
 * Why an execution failed, as JSON, where the server could prove it.
 */
export function executionCausesMigration(): readonly string[] {
  return [`ALTER TABLE executions ADD COLUMN cause TEXT`]
}
