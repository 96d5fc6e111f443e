/**
 * Migrations: brings a database to the shape this version of the server needs, forward only.
 *
 * Stands beside the flow, between opening a store and using it. Each migration is one transaction under a lock, so that two servers
 * may start at once. A database that a newer version has written is refused before anything is changed.
 */
import { HoldfastError } from '@holdfast/protocol'
import { sessionsMigration } from './migrations/0001-sessions.ts'
import { idempotencyMigration } from './migrations/0002-idempotency.ts'
import { sessionKeysMigration } from './migrations/0003-session-keys.ts'
import { sessionLabelsMigration } from './migrations/0004-session-labels.ts'
import { executionInputMigration } from './migrations/0005-execution-input.ts'
import { processRestartsMigration } from './migrations/0006-process-restarts.ts'
import { mcpServersMigration } from './migrations/0007-mcp-servers.ts'
import { previewLinksMigration } from './migrations/0008-preview-links.ts'
import { hostedSessionsMigration } from './migrations/0009-hosted-sessions.ts'
import { keptStorageMigration } from './migrations/0010-kept-storage.ts'
import { identityMigration } from './migrations/0011-identity.ts'
import { webhookTargetsMigration } from './migrations/0012-webhook-targets.ts'
import { credentialsMigration } from './migrations/0013-credentials.ts'
import { definitionsMigration } from './migrations/0014-definitions.ts'
import { executionCausesMigration } from './migrations/0017-execution-causes.ts'
import type { Dialect, Sql, Store, Transaction } from './store.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  statements(dialect: Dialect): readonly string[]
}

/** In order, without gaps. What has been released is never changed again. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'sessions', statements: sessionsMigration },
  { version: 2, name: 'idempotency', statements: idempotencyMigration },
  { version: 3, name: 'session-keys', statements: sessionKeysMigration },
  { version: 4, name: 'session-labels', statements: sessionLabelsMigration },
  { version: 5, name: 'execution-input', statements: executionInputMigration },
  { version: 6, name: 'process-restarts', statements: processRestartsMigration },
  { version: 7, name: 'mcp-servers', statements: mcpServersMigration },
  { version: 8, name: 'preview-links', statements: previewLinksMigration },
  { version: 9, name: 'hosted-sessions', statements: hostedSessionsMigration },
  { version: 10, name: 'kept-storage', statements: keptStorageMigration },
  { version: 11, name: 'identity', statements: identityMigration },
  { version: 12, name: 'webhook-targets', statements: webhookTargetsMigration },
  { version: 13, name: 'credentials', statements: credentialsMigration },
  { version: 14, name: 'definitions', statements: definitionsMigration },
  { version: 17, name: 'execution-causes', statements: executionCausesMigration },
]

/** Names this lock among the advisory locks of a PostgreSQL database; the number means nothing. */
const ADVISORY_LOCK = 4_720_331_905

/** Applies what is missing, and gives the versions before and after. Safe to call again, and by several servers at once. */
export async function migrate(
  store: Store,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<{ readonly from: number; readonly to: number }> {
  const current = await store.read((sql) => refuseNewer(sql, migrations))
  for (const migration of migrations) {
    if (migration.version > current) await store.write((transaction) => apply(transaction, migration, migrations), 'power')
  }
  return { from: current, to: Math.max(current, ...migrations.map(({ version }) => version)) }
}

/** Throws `store_too_new` for a database of a newer version; gives the version of the others, 0 for an empty one. */
export async function refuseNewer(sql: Sql, migrations: readonly Migration[] = MIGRATIONS): Promise<number> {
  const newest = Math.max(0, ...migrations.map(({ version }) => version))
  const current = await currentVersion(sql)
  if (current > newest)
    throw new HoldfastError(
      'store_too_new',
      `the database has version ${current}, this server knows versions up to ${newest}; nothing was changed`,
      { version: current, newest },
    )
  return current
}

async function apply(transaction: Transaction, migration: Migration, migrations: readonly Migration[]): Promise<void> {
  if (transaction.dialect === 'postgres') await transaction.all(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCK})`)
  // Read again under the lock: another server may have been faster.
  if ((await refuseNewer(transaction, migrations)) >= migration.version) return
  await transaction.run('CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL)')
  for (const statement of migration.statements(transaction.dialect)) await transaction.run(statement)
  await transaction.run('INSERT INTO migrations (version, name) VALUES (?, ?)', migration.version, migration.name)
}

async function currentVersion(sql: Sql): Promise<number> {
  // PostgreSQL's `to_regclass` answers from a cache that may not know yet what another server has just made.
  const tables =
    sql.dialect === 'sqlite'
      ? `SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'migrations'`
      : `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'migrations'`
  if ((await sql.get(tables)) === undefined) return 0
  const row = await sql.get('SELECT MAX(version) AS version FROM migrations')
  return Number(row?.version ?? 0)
}
