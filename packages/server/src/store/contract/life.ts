/**
 * Store contract, life: closing is orderly, and can be repeated.
 *
 * Stands beside the flow.
 */
import { expect } from 'vitest'
import type { Proofs } from './subject.ts'
import { insertThing, makeThings, outcomeOf, thingIds } from './things.ts'

export const LIFE: Proofs = {
  'what was written is there when the database is opened again': async ({ store, open, closeAll }) => {
    await makeThings(store)
    await store.write((transaction) => insertThing(transaction, 'a'))
    await closeAll()
    expect(await thingIds(await open())).toEqual(['a'])
  },

  'whoever reads after a promise reads what was promised, and closing waits for it': async ({ store, open }) => {
    await makeThings(store)
    const written = Promise.withResolvers<void>()
    const write = async (id: string) => {
      await written.promise
      await store.write((transaction) => insertThing(transaction, id))
    }
    store.promise(write('a'))
    const read = thingIds(store)
    written.resolve()
    expect(await read).toEqual(['a'])
    const broken = write('a')
    store.promise(broken)
    expect(await thingIds(store)).toEqual(['a'])
    await expect(broken).rejects.toThrow()
    store.promise(write('b'))
    await store.close()
    expect(await thingIds(await open())).toEqual(['a', 'b'])
  },

  'closing waits for what has begun, refuses what comes later, and can be repeated': async ({ store, open }) => {
    await makeThings(store)
    const begun = ['a', 'b', 'c'].map((id) => store.write((transaction) => insertThing(transaction, id)))
    const closed = Promise.all([store.close(), store.close()])
    expect(await outcomeOf(store.read((sql) => sql.get('SELECT 1 AS one')))).toBe('store_unavailable')
    expect(await outcomeOf(store.write(async () => undefined))).toBe('store_unavailable')
    await Promise.all(begun)
    await closed
    await store.close()
    expect(await thingIds(await open())).toEqual(['a', 'b', 'c'])
  },
}
