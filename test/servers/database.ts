/**
 * Databases for tests on PostgreSQL: addresses of empty ones, and a store on one.
 */
import { postgresObstacle } from '../environment/postgres.ts'
import { newPostgresDatabase } from '../environment/shared-postgres.ts'
import { openPostgresStore } from '../../packages/server/src/store/postgres/postgres-store.ts'
import type { Store } from '../../packages/server/src/store/store.ts'

export interface PostgresForServers {
  /** The address of a new, empty database. */
  newDatabase(): Promise<string>
  stop(): Promise<void>
}

/** For the name of a suite: why it is skipped, or nothing. */
export const noPostgres = postgresObstacle()

export function openPostgresForServers(): PostgresForServers {
  const stops: (() => Promise<void>)[] = []
  return {
    async newDatabase() {
      const { host, port, user, database, stop } = await newPostgresDatabase()
      stops.push(stop)
      return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
    },
    async stop() {
      for (const stop of stops.splice(0)) await stop()
    },
  }
}

/** On a new, empty database, which goes when the store is closed. */
export async function openPostgresStoreForTest(): Promise<Store> {
  const { stop, ...address } = await newPostgresDatabase()
  const store = await openPostgresStore(address)
  const close = async () => {
    await store.close()
    await stop()
  }
  return { ...store, close }
}
