/**
 * Store contract, concurrency: readers see one moment and wait for nobody, writers lose no update.
 *
 * Stands beside the flow.
 */
import { expect } from 'vitest'
import type { Store } from '../store.ts'
import type { Proofs } from './subject.ts'
import { insertThing, makeThings, outcomeOf, thingIds, versionOf } from './things.ts'

export const CONCURRENCY: Proofs = {
  'a read neither sees what is not committed nor waits for it': async ({ store, open }) => {
    await makeThings(store)
    const other = await open()
    const written = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const write = store.write(async (transaction) => {
      await insertThing(transaction, 'a')
      written.resolve()
      await gate.promise
    })
    await written.promise
    expect(await thingIds(store)).toEqual([])
    expect(await thingIds(other)).toEqual([])
    gate.resolve()
    await write
    expect(await thingIds(store)).toEqual(['a'])
    expect(await thingIds(other)).toEqual(['a'])
  },

  'all statements of a read see the same moment': async ({ store }) => {
    await makeThings(store)
    await store.write((transaction) => insertThing(transaction, 'a'))
    const versions = await store.read(async (sql) => {
      const before = await versionOf(sql, 'a')
      await store.write((transaction) => transaction.run('UPDATE things SET version = 7'))
      return [before, await versionOf(sql, 'a')]
    })
    expect(versions).toEqual([0, 0])
    expect(await store.read((sql) => versionOf(sql, 'a'))).toBe(7)
  },

  'more reads than there are connections all end': async ({ store }) => {
    await makeThings(store)
    await store.write((transaction) => insertThing(transaction, 'a', 3))
    const answers = await Promise.all(Array.from({ length: 100 }, () => store.read((sql) => versionOf(sql, 'a'))))
    expect(new Set(answers)).toEqual(new Set([3]))
  },

  'a read that fails leaves the next one unharmed, and its error reaches the caller': async ({ store }) => {
    await makeThings(store)
    for (let round = 0; round < 20; round++) {
      expect(await outcomeOf(store.read((sql) => sql.get('SELECT nonsense')))).toBe('internal')
      await expect(store.read(() => Promise.reject(new TypeError('mine')))).rejects.toThrow(TypeError)
    }
    expect(await thingIds(store)).toEqual([])
  },

  'a read can change nothing': async ({ store }) => {
    await makeThings(store)
    const insert = `INSERT INTO things (id, version, state) VALUES ('a', 0, 'new')`
    expect(await outcomeOf(store.read((sql) => sql.run(insert)))).toBe('store_unavailable')
    expect(await thingIds(store)).toEqual([])
  },

  'of concurrent changes to one version exactly one wins': async ({ store, open }) => {
    await makeThings(store)
    const stores = [store, await open()]
    await store.write((transaction) => insertThing(transaction, 'a'))
    for (let version = 0; version < 10; version++) {
      const changed = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          pick(stores, index).write((transaction) =>
            transaction.run('UPDATE things SET version = version + 1 WHERE id = ? AND version = ?', 'a', version),
          ),
        ),
      )
      expect(changed.toSorted((left, right) => left - right)).toEqual([0, 0, 0, 0, 0, 0, 0, 1])
    }
  },

  'two hundred writers that read a row, think and write it back lose no update': async ({ store, open }) => {
    await makeThings(store)
    const stores = [store, await open()]
    await store.write((transaction) => insertThing(transaction, 'a'))
    const add = (index: number) =>
      pick(stores, index).write(async (transaction) => {
        const row = await transaction.get(`SELECT version FROM things WHERE id = ? ${transaction.forUpdate}`, 'a')
        await transaction.run('UPDATE things SET version = ? WHERE id = ?', Number(row?.version) + 1, 'a')
      })
    await Promise.all(Array.from({ length: 200 }, (_, index) => add(index)))
    expect(await store.read((sql) => versionOf(sql, 'a'))).toBe(200)
  },

  'statements that are not awaited one by one still run in order': async ({ store }) => {
    await makeThings(store)
    await store.write((transaction) => insertThing(transaction, 'a'))
    const changed = await store.write((transaction) =>
      Promise.all([0, 1, 2, 3].map((version) => transaction.run('UPDATE things SET version = ? WHERE version = ?', version + 1, version))),
    )
    expect(changed).toEqual([1, 1, 1, 1])
  },
}

function pick(stores: readonly Store[], index: number): Store {
  const store = stores[index % stores.length]
  if (store === undefined) throw new Error('no store to pick from')
  return store
}
