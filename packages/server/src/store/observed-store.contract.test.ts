/** What a store tells of itself: its transactions, who was in the way, its pool. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { postgresObstacle } from '../../../../test/environment/postgres.ts'
import { newPostgresDatabase } from '../../../../test/environment/shared-postgres.ts'
import { unobserved } from '../telemetry/observations.ts'
import type { PoolUse } from '../telemetry/observations.ts'
import { openStore } from './open-store.ts'

let home: string
let transactions: string[]
let retries: number
let pool: (() => PoolUse) | null
let isRetried: PromiseWithResolvers<void>

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-observed-'))
  ;[transactions, retries, pool, isRetried] = [[], 0, null, Promise.withResolvers()]
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const observer = () => ({
  ...unobserved,
  transactionEnded(kind: string, seconds: number) {
    expect(seconds).toBeGreaterThan(0)
    transactions.push(kind)
  },
  transactionRetried() {
    retries += 1
    isRetried.resolve()
  },
  poolOpened: (use: () => PoolUse) => void (pool = use),
})

test('SQLite: transactions are told, failed ones too; a lock of another process is a retry', async () => {
  const store = await openStore({ url: null, home }, observer())
  await store.read((sql) => sql.get('SELECT 1 AS one'))
  await expect(store.write((transaction) => transaction.run('nonsense'))).rejects.toMatchObject({ code: 'internal' })
  expect(transactions).toEqual(['read', 'write'])
  expect(retries).toBe(0)
  const other = new DatabaseSync(join(home, 'holdfast.db'))
  other.exec('BEGIN IMMEDIATE')
  const write = store.write((transaction) => transaction.run('CREATE TABLE more (id TEXT)'))
  await isRetried.promise
  other.exec('COMMIT')
  other.close()
  await write
  expect(retries).toBeGreaterThan(0)
  expect(pool).toBeNull()
  await store.close()
})

const obstacle = postgresObstacle()
describe.skipIf(obstacle !== null)(`PostgreSQL${obstacle === null ? '' : ` (skipped: ${obstacle})`}`, () => {
  test('its pool can be looked at, and what it takes back is a retry', async () => {
    const server = await newPostgresDatabase()
    const { host, port, user, database } = server
    const url = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`
    const store = await openStore({ url, home }, observer())
    await store.write((transaction) => transaction.run('CREATE TABLE pairs (id INTEGER PRIMARY KEY, n INTEGER)'))
    await store.write((transaction) => transaction.run('INSERT INTO pairs VALUES (1, 0), (2, 0)'))
    expect(pool?.()).toMatchObject({ used: 0, waiting: 0 })
    const bump = (id: number) => `UPDATE pairs SET n = n + 1 WHERE id = ${id}`
    // Both have their first row before either asks for its second.
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const crossing = (own: number) =>
      store.write(async (transaction) => {
        await transaction.run(bump(own))
        both[own - 1]?.resolve()
        await Promise.all(both.map(({ promise }) => promise))
        expect(pool?.().used).toBeGreaterThan(0)
        await transaction.run(bump(3 - own))
      })
    await Promise.all([crossing(1), crossing(2)])
    expect(retries).toBeGreaterThan(0)
    expect(await store.read((sql) => sql.all('SELECT n FROM pairs'))).toEqual([{ n: 2 }, { n: 2 }])
    await store.close()
    await server.stop()
  })
})
