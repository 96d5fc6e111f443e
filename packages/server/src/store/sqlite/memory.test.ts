/** The store in memory, for tests of others: the same promises, with reads that take their turn among the writes. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { insertThing, makeThings, outcomeOf, thingIds } from '../contract/things.ts'
import type { Store } from '../store.ts'
import { openSqliteStore } from './sqlite-store.ts'

let store: Store
beforeEach(async () => {
  store = await openSqliteStore(':memory:')
  await makeThings(store)
})
afterEach(() => store.close())

test('a rejected write is taken back alone', async () => {
  const settled = await Promise.allSettled(
    ['a', 'b', 'c'].map((id) =>
      store.write(async (transaction) => {
        await insertThing(transaction, id)
        if (id === 'b') throw new Error('not b')
      }),
    ),
  )
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await thingIds(store)).toEqual(['a', 'c'])
})

test('a read can change nothing, and writes go on after it', async () => {
  const attempt = store.read((sql) => sql.run(`INSERT INTO things (id, version, state) VALUES ('a', 0, 'new')`))
  expect(await outcomeOf(attempt)).toBe('store_unavailable')
  await store.write((transaction) => insertThing(transaction, 'b'))
  expect(await thingIds(store)).toEqual(['b'])
})

test('two stores in memory know nothing of each other', async () => {
  const other = await openSqliteStore(':memory:')
  await makeThings(other)
  await other.write((transaction) => insertThing(transaction, 'theirs'))
  expect(await thingIds(store)).toEqual([])
  await other.close()
})
