/** Quotas on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { postgresObstacle, startPostgres } from '../../../../test/environment/postgres.ts'
import { openPostgresStore } from '../store/postgres/postgres-store.ts'
import type { Store } from '../store/store.ts'
import { quotasContract } from './contract/quotas-contract.ts'

const obstacle = postgresObstacle()
if (obstacle === null) quotasContract('PostgreSQL', openPrivate)
else describe('PostgreSQL', () => test.skip(`keeps quotas (skipped: ${obstacle})`))

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
