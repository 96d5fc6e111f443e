/**
 * Which sessions hold compute on a server: asked whenever a session gets a sandbox. The column does not change with a command, so keeping
 * the index costs a command nothing.
 */
export function hostedSessionsMigration(): readonly string[] {
  return [`CREATE INDEX sessions_hosted ON sessions (server_id) WHERE sandbox_id IS NOT NULL`]
}
