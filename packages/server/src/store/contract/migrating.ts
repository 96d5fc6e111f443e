/**
 * Store contract, migrations: forward only, once each, whoever starts, and never on what a newer version wrote.
 *
 * Stands beside the flow.
 */
import { expect } from 'vitest'
import { migrate, MIGRATIONS, type Migration } from '../migrate.ts'
import type { Store } from '../store.ts'
import type { Proofs } from './subject.ts'
import { outcomeOf } from './things.ts'

const FIRST: Migration = { version: 1, name: 'first', statements: () => ['CREATE TABLE one (id TEXT PRIMARY KEY)'] }
const SECOND: Migration = {
  version: 2,
  name: 'second',
  statements: () => ['CREATE TABLE two (id TEXT PRIMARY KEY)', `INSERT INTO one VALUES ('from two')`],
}
const BROKEN: Migration = { version: 2, name: 'broken', statements: () => ['CREATE TABLE two (id TEXT)', 'CREATE TABLE one (id TEXT)'] }

export const MIGRATING: Proofs = {
  'the migrations of this version fit this engine, and running them again changes nothing': async ({ store, open }) => {
    await migrate(store)
    await migrate(store)
    await migrate(await open())
    expect(await applied(store)).toEqual(MIGRATIONS.map(({ version, name }) => ({ version, name })))
    expect(await store.read((sql) => sql.get('SELECT COUNT(*) AS count FROM sessions'))).toEqual({ count: 0 })
  },

  'only what is missing is applied, in order': async ({ store }) => {
    await migrate(store, [FIRST])
    await migrate(store, [FIRST, SECOND])
    expect((await applied(store)).map(({ version }) => version)).toEqual([1, 2])
    expect(await store.read((sql) => sql.all('SELECT id FROM one'))).toEqual([{ id: 'from two' }])
  },

  'a migration that fails leaves the version before it whole': async ({ store }) => {
    expect(await outcomeOf(migrate(store, [FIRST, BROKEN]))).toBe('internal')
    expect((await applied(store)).map(({ version }) => version)).toEqual([1])
    await migrate(store, [FIRST, SECOND])
    expect((await applied(store)).map(({ version }) => version)).toEqual([1, 2])
  },

  'servers that start at once all find the database migrated once': async ({ store, open }) => {
    const stores = await Promise.all([open(), open(), open(), open(), open()])
    // Each has looked already and found nothing, as servers do that started a moment too early.
    await Promise.all(stores.map((starter) => migrate(starter, [])))
    await Promise.all(stores.map((starter) => migrate(starter, [FIRST, SECOND])))
    expect((await applied(store)).map(({ version }) => version)).toEqual([1, 2])
    expect(await store.read((sql) => sql.all('SELECT id FROM one'))).toEqual([{ id: 'from two' }])
  },

  'a database of a newer version is refused, and stays as it was': async ({ store, open, closeAll, fingerprint }) => {
    await migrate(store, [FIRST, SECOND])
    await closeAll()
    const before = await fingerprint()
    const attempt = migrate(await open(), [FIRST])
    expect(await outcomeOf(attempt)).toBe('store_too_new')
    await expect(attempt).rejects.toThrow('the database has version 2, this server knows versions up to 1; nothing was changed')
    await closeAll()
    expect(await fingerprint()).toBe(before)
  },
}

async function applied(store: Store): Promise<readonly { readonly version: number; readonly name: string }[]> {
  const rows = await store.read((sql) => sql.all('SELECT version, name FROM migrations ORDER BY version'))
  return rows.map(({ version, name }) => ({ version: Number(version), name: String(name) }))
}
