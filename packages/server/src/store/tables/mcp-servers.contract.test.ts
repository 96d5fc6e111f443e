/** MCP servers and their runs on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { postgresObstacle, startPostgres } from '../../../../../test/environment/postgres.ts'
import { openPostgresStore } from '../postgres/postgres-store.ts'
import type { Store } from '../store.ts'
import { mcpServersContract } from './contract/mcp-servers-contract.ts'

const obstacle = postgresObstacle()
if (obstacle === null) mcpServersContract('PostgreSQL', openPrivate)
else describe('PostgreSQL', () => test.skip(`MCP servers (skipped: ${obstacle})`))

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
