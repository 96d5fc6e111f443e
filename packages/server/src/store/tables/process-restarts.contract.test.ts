/** Restarts and places of processes on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { postgresObstacle, startPostgres } from '../../../../../test/environment/postgres.ts'
import { openPostgresStore } from '../postgres/postgres-store.ts'
import type { Store } from '../store.ts'
import { processRestartsContract } from './contract/process-restarts-contract.ts'

const obstacle = postgresObstacle()
if (obstacle === null) processRestartsContract('PostgreSQL', openPrivate)
else describe('PostgreSQL', () => test.skip(`restarts of processes (skipped: ${obstacle})`))

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
