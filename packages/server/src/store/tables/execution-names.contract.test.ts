/** Names, later input and terminals of executions on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { postgresObstacle, startPostgres } from '../../../../../test/environment/postgres.ts'
import { openPostgresStore } from '../postgres/postgres-store.ts'
import type { Store } from '../store.ts'
import { executionNamesContract } from './contract/execution-names-contract.ts'

const obstacle = postgresObstacle()
if (obstacle === null) executionNamesContract('PostgreSQL', openPrivate)
else describe('PostgreSQL', () => test.skip(`names of executions (skipped: ${obstacle})`))

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
