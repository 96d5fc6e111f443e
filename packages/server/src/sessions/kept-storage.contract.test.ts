/** Kept storage on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { postgresObstacle, startPostgres } from '../../../../test/environment/postgres.ts'
import { openPostgresStore } from '../store/postgres/postgres-store.ts'
import type { Store } from '../store/store.ts'
import { keptStorageContract } from './contract/kept-storage-contract.ts'

const obstacle = postgresObstacle()
if (obstacle === null) keptStorageContract('PostgreSQL', openPrivate)
else describe('PostgreSQL', () => test.skip(`counts what is kept (skipped: ${obstacle})`))

/** Closing it ends the server too. */
async function openPrivate(): Promise<Store> {
  const { host, port, user, database, stop } = await startPostgres()
  const store = await openPostgresStore({ host, port, user, database })
  const close = async () => {
    await store.close()
    await stop()
  }
  return { ...store, close }
}
