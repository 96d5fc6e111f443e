/**
 * Whom each service key speaks for, and transfers that wait for the owner's consent. Keys that are there keep their users.
 */
export function identityMigration(): readonly string[] {
  return [
    `ALTER TABLE api_keys ADD COLUMN users TEXT`,
    `UPDATE api_keys SET users = '{"any":true}' WHERE kind = 'service'`,
    `ALTER TABLE sessions ADD COLUMN pending_transfer TEXT`,
    `CREATE INDEX sessions_of_group ON sessions (tenant_id, owner_group) WHERE owner_group IS NOT NULL`,
  ]
}
