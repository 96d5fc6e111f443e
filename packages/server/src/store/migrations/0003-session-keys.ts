/**
 * Sessions by their readable key, so that a list of one conversation's sessions costs the same however many there are.
 */
export function sessionKeysMigration(): readonly string[] {
  return [`CREATE INDEX sessions_of_key ON sessions (tenant_id, key, created_at, id)`]
}
