/** PostgreSQL keeps the store contract, on a private server. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requiredBackends } from '../../../../../test/environment/backends.ts'
import { postgresObstacle, type PrivatePostgres } from '../../../../../test/environment/postgres.ts'
import { newPostgresDatabase } from '../../../../../test/environment/shared-postgres.ts'
import { storeContract } from '../contract/store-contract.ts'

const obstacle = postgresObstacle()

test.runIf(requiredBackends().length > 0)('a machine that is there for testing has PostgreSQL', () => {
  expect(obstacle).toBeNull()
})

describe.skipIf(obstacle !== null)(`a private PostgreSQL${obstacle === null ? '' : ` (skipped: ${obstacle})`}`, () => {
  let server: PrivatePostgres
  beforeAll(async () => {
    server = await newPostgresDatabase()
  })
  afterAll(() => server.stop())

  storeContract({
    dialect: 'postgres',
    async makeDatabase() {
      const { host, port, user } = server
      const database = `t_${randomUUID().replaceAll('-', '')}`
      await ask(server, server.database, `CREATE DATABASE ${database}`)
      return {
        address: JSON.stringify({ host, port, user, database }),
        fingerprint: () => contents(server, database),
        remove: async () => void (await ask(server, server.database, `DROP DATABASE ${database} WITH (FORCE)`)),
      }
    },
  })
})

/** Every table with its columns and rows. */
async function contents(server: PrivatePostgres, database: string): Promise<string> {
  const tables = await ask(
    server,
    database,
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`,
  )
  const rows = tables.map(async ({ name }) => ({ name, rows: await ask(server, database, `SELECT * FROM "${name}"`) }))
  return JSON.stringify(await Promise.all(rows))
}

/** Past the store, with a client of its own. */
async function ask(
  { host, port, user }: PrivatePostgres,
  database: string,
  text: string,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const client = new pg.Client({ host, port, user, database })
  await client.connect()
  try {
    return (await client.query<Record<string, string>>(text)).rows
  } finally {
    await client.end()
  }
}
