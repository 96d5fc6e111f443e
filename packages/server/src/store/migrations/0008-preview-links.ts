/**
 * Links to web apps inside sandboxes: which port of which session, for how long, and in whose name.
 */
import type { Dialect } from '../store.ts'

export function previewLinksMigration(dialect: Dialect): readonly string[] {
  const clustered = dialect === 'sqlite' ? ' WITHOUT ROWID' : ''
  return [
    `CREATE TABLE preview_links (
      id TEXT NOT NULL PRIMARY KEY,
      session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      port BIGINT NOT NULL,
      asker TEXT NOT NULL,
      expires_at BIGINT NOT NULL
    )${clustered}`,
    `CREATE INDEX preview_links_of_session ON preview_links (session_id)`,
    `CREATE INDEX preview_links_by_end ON preview_links (expires_at)`,
  ]
}
