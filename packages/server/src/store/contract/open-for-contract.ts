/**
 * Opens a store by the address that a proof knows it by, in this process or in a child.
 *
 * Stands beside the flow.
 */
import { openPostgresStore } from '../postgres/postgres-store.ts'
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import type { Dialect, Store } from '../store.ts'

/** A path for SQLite, connection options as JSON for PostgreSQL. No migrations are run. */
export async function openForContract(dialect: Dialect, address: string): Promise<Store> {
  return dialect === 'sqlite' ? openSqliteStore(address) : openPostgresStore(JSON.parse(address))
}
