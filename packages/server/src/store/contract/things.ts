/**
 * A small table for proofs, and the questions they ask of it.
 *
 * Stands beside the flow.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Sql, Store, Transaction } from '../store.ts'

export async function makeThings(store: Store): Promise<void> {
  await store.write(async (transaction) => {
    await transaction.run('CREATE TABLE things (id TEXT PRIMARY KEY, version BIGINT NOT NULL, state TEXT NOT NULL)')
    await transaction.run(`CREATE UNIQUE INDEX one_open ON things (version) WHERE state = 'open'`)
  })
}

export async function insertThing(transaction: Transaction, id: string, version = 0, state = 'new'): Promise<void> {
  await transaction.run('INSERT INTO things (id, version, state) VALUES (?, ?, ?)', id, version, state)
}

/** The ids, in order. */
export async function thingIds(store: Store): Promise<readonly string[]> {
  return store.read(async (sql) => (await sql.all('SELECT id FROM things ORDER BY id')).map(({ id }) => String(id)))
}

export async function versionOf(sql: Sql, id: string): Promise<number> {
  const row = await sql.get('SELECT version FROM things WHERE id = ?', id)
  return Number(row?.version)
}

/** `done`, or the code of the error; anything but a `HoldfastError` is thrown on. */
export async function outcomeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt
    return 'done'
  } catch (error) {
    if (isHoldfastError(error)) return error.code
    throw error
  }
}
