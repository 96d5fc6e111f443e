/**
 * Databases for servers under test: the file in a server's own home, and a private PostgreSQL.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { postgresObstacle, startPostgres } from '../environment/postgres.ts'
import type { PrivatePostgres } from '../environment/postgres.ts'

export interface PostgresForServers {
  /** The address of a new, empty database. */
  newDatabase(): Promise<string>
  stop(): Promise<void>
}

/** For the name of a suite: why it is skipped, or nothing. */
export const noPostgres = postgresObstacle()

export async function openPostgresForServers(): Promise<PostgresForServers> {
  const server = await startPostgres()
  return {
    async newDatabase() {
      const database = `t_${randomUUID().replaceAll('-', '')}`
      await ask(server, `CREATE DATABASE ${database}`)
      return `postgres://${server.user}@localhost:${server.port}/${database}?host=${encodeURIComponent(server.host)}`
    },
    stop: () => server.stop(),
  }
}

async function ask({ host, port, user, database }: PrivatePostgres, text: string): Promise<void> {
  const client = new pg.Client({ host, port, user, database })
  await client.connect()
  await client.query(text)
  await client.end()
}
