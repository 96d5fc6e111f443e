/**
 * A database of one's own on the PostgreSQL server that all test files share: making a database takes 50 ms, making a server 3 s of processor time.
 */
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { inject } from 'vitest'
import type { PrivatePostgres } from './postgres.ts'

/** `stop` drops the database. */
export async function newPostgresDatabase(): Promise<PrivatePostgres> {
  const server = await sharedServer()
  const database = `t_${randomUUID().replaceAll('-', '')}`
  await run(server, `CREATE DATABASE ${database}`)
  return { ...server, database, stop: () => run(server, `DROP DATABASE ${database} WITH (FORCE)`) }
}

async function sharedServer(): Promise<Omit<PrivatePostgres, 'stop'>> {
  const answer: { readonly postgres: Omit<PrivatePostgres, 'stop'> } | { readonly error: string } = JSON.parse(
    await text(connect(inject('testPostgresSocket'))),
  )
  if ('error' in answer) throw new Error(answer.error)
  return answer.postgres
}

async function run({ host, port, user, database }: Omit<PrivatePostgres, 'stop'>, statement: string): Promise<void> {
  const client = new pg.Client({ host, port, user, database })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
