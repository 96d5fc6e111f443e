/**
 * Databases for servers that die: made from one that has its tables already, and dropped when their last server is gone.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { openStore } from '../../../packages/server/src/store/open-store.ts'
import type { PrivatePostgres } from '../../environment/postgres.ts'

export interface Databases {
  /** `null`: a SQLite file in the server's home. */
  make(): Promise<string | null>
  drop(url: string | null): Promise<void>
}

export const SQLITE_FILES: Databases = {
  make: () => Promise.resolve(null),
  drop: () => Promise.resolve(),
}

export async function postgresDatabases(server: PrivatePostgres): Promise<Databases> {
  const urlOf = (database: string) =>
    `postgres://${server.user}@localhost:${server.port}/${database}?host=${encodeURIComponent(server.host)}`
  const template = newName()
  await ask(server, `CREATE DATABASE ${template}`)
  await (await openStore({ url: urlOf(template), home: '' })).close()
  return {
    async make() {
      const name = newName()
      await ask(server, `CREATE DATABASE ${name} TEMPLATE ${template}`)
      return urlOf(name)
    },
    async drop(url) {
      if (url !== null) await ask(server, `DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
    },
  }
}

function newName(): string {
  return `t_${randomUUID().replaceAll('-', '')}`
}

async function ask({ host, port, user, database }: PrivatePostgres, text: string): Promise<void> {
  const client = new pg.Client({ host, port, user, database })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
