/**
 * The whole address of a webhook, sealed: it often holds a token. `url` keeps scheme and host, for people.
 *
 * Rows of older versions are sealed at the start (`sessions/webhooks/webhook-target.ts`), which has the key.
 */
import type { Dialect } from '../store.ts'

export function webhookTargetsMigration(dialect: Dialect): readonly string[] {
  return [`ALTER TABLE webhooks ADD COLUMN target ${dialect === 'sqlite' ? 'BLOB' : 'BYTEA'}`]
}
