/** The store that the settings name: a file in the home, or a PostgreSQL database. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { databasePathOf } from '../home/home-health.ts'
import { migrate, MIGRATIONS } from './migrate.ts'
import { openStore } from './open-store.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-open-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

test('without an address it is holdfast.db in the home, with all tables', async () => {
  for (let start = 0; start < 2; start++) {
    const store = await openStore({ url: null, home })
    expect(store.dialect).toBe('sqlite')
    expect(await store.read((sql) => sql.get('SELECT COUNT(*) AS count FROM sessions'))).toEqual({ count: 0 })
    await store.close()
  }
  expect(existsSync(join(home, 'holdfast.db'))).toBe(true)
})

test('an older database that is migrated is reported with both versions, a new or current one is not', async () => {
  const older = await openSqliteStore(databasePathOf(home), {})
  await migrate(older, MIGRATIONS.slice(0, 1))
  await older.close()
  const migrated: (readonly [number, number])[] = []
  const open = (directory: string) => openStore({ url: null, home: directory, onMigrated: (from, to) => migrated.push([from, to]) })
  for (let start = 0; start < 2; start++) await (await open(home)).close()
  const fresh = mkdtempSync(join(home, 'fresh-'))
  await (await open(fresh)).close()
  expect(migrated).toEqual([[1, MIGRATIONS.at(-1)?.version]])
})

test('a database that does not answer is named without its password', async () => {
  const url = 'postgres://somebody:s3cret@127.0.0.1:1/sessions'
  const error = await openStore({ url, home }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    code: 'store_unavailable',
    message: 'the database 127.0.0.1:1/sessions does not answer; nothing was changed',
  })
  expect(inspect(error, { depth: null })).not.toContain('s3cret')
})

test.each(['mysql://user:s3cret@host/db', 'holdfast.db', ''])('an address of another kind is refused and not shown: %s', async (url) => {
  const error = await openStore({ url, home }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'config_invalid' })
  expect(String(error)).not.toContain('s3cret')
})
