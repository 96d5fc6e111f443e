/**
 * Requests that may be sent again: who is at them, and what they were answered.
 *
 * `id` and `fingerprint` are keyed hashes, `answer` is sealed: nothing of what was sent or shown can be read from here.
 */
import type { Dialect } from '../store.ts'

export function idempotencyMigration(dialect: Dialect): readonly string[] {
  return [
    `CREATE TABLE requests (
      id TEXT PRIMARY KEY,
      tenant_id TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      life TEXT NOT NULL,
      alive_until BIGINT NOT NULL,
      answer ${dialect === 'sqlite' ? 'BLOB' : 'BYTEA'},
      expires_at BIGINT NOT NULL
    )`,
    `CREATE INDEX requests_expired ON requests (expires_at)`,
    `CREATE INDEX requests_under_way ON requests (life) WHERE answer IS NULL`,
  ]
}
