/**
 * Store contract, atomicity: everything in a transaction happens, or nothing does, and the caller hears which.
 *
 * Stands beside the flow.
 */
import { expect } from 'vitest'
import type { Transaction } from '../store.ts'
import type { Proofs } from './subject.ts'
import { insertThing, makeThings, outcomeOf, thingIds } from './things.ts'

export const ATOMICITY: Proofs = {
  'a work that resolves is kept whole, one that rejects leaves nothing': async ({ store }) => {
    await makeThings(store)
    const value = await store.write(async (transaction) => {
      await insertThing(transaction, 'a')
      await insertThing(transaction, 'b')
      return 'kept'
    })
    const refused = store.write(async (transaction) => {
      await insertThing(transaction, 'c')
      throw new Error('changed my mind')
    })
    await expect(refused).rejects.toThrow('changed my mind')
    expect(value).toBe('kept')
    expect(await thingIds(store)).toEqual(['a', 'b'])
  },

  'of many writes at once the rejected ones are taken back alone': async ({ store }) => {
    await makeThings(store)
    const ids = Array.from({ length: 150 }, (_, index) => `t${String(index).padStart(3, '0')}`)
    const isOdd = (id: string) => Number(id.slice(1)) % 2 === 1
    const settled = await Promise.allSettled(
      ids.map((id) =>
        store.write(async (transaction) => {
          await insertThing(transaction, id)
          await transaction.run('UPDATE things SET version = version + 1 WHERE id = ?', id)
          if (isOdd(id)) throw new Error(`not ${id}`)
        }, 'power'),
      ),
    )
    expect(settled.map(({ status }) => status)).toEqual(ids.map((id) => (isOdd(id) ? 'rejected' : 'fulfilled')))
    expect(await thingIds(store)).toEqual(ids.filter((id) => !isOdd(id)))
  },

  'a statement that fails takes its transaction with it, even when the work goes on': async ({ store }) => {
    await makeThings(store)
    const attempt = store.write(async (transaction) => {
      await insertThing(transaction, 'a')
      await insertThing(transaction, 'a').catch(() => undefined)
      expect(await outcomeOf(transaction.get('SELECT id FROM things'))).toBe('internal')
    })
    expect(await outcomeOf(attempt)).toBe('internal')
    expect(await thingIds(store)).toEqual([])
  },

  'a refused constraint is an internal error with its cause': async ({ store }) => {
    await makeThings(store)
    const attempt = store.write(async (transaction) => {
      await insertThing(transaction, 'a')
      await insertThing(transaction, 'a')
    })
    await expect(attempt).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('constraint') })
    await expect(attempt).rejects.toMatchObject({ cause: expect.any(Error) })
  },

  'a unique partial index refuses the second, and only what it covers': async ({ store }) => {
    await makeThings(store)
    await store.write((transaction) => insertThing(transaction, 'a', 1, 'open'))
    await store.write((transaction) => insertThing(transaction, 'b', 1, 'over'))
    expect(await outcomeOf(store.write((transaction) => insertThing(transaction, 'c', 1, 'open')))).toBe('internal')
    expect(await thingIds(store)).toEqual(['a', 'b'])
  },

  'a reference to what does not exist is refused': async ({ store }) => {
    await makeThings(store)
    await store.write((transaction) => transaction.run('CREATE TABLE parts (thing TEXT NOT NULL REFERENCES things (id))'))
    expect(await outcomeOf(store.write((transaction) => transaction.run('INSERT INTO parts VALUES (?)', 'nobody')))).toBe('internal')
  },

  'what is to follow a commit runs in order, after it and before the caller hears; never after a rollback': async ({ store }) => {
    await makeThings(store)
    const seen: string[] = []
    const note = (transaction: Transaction, word: string) => transaction.afterCommit(() => seen.push(word))
    const refused = store.write(async (transaction) => {
      note(transaction, 'never')
      await insertThing(transaction, 'x')
      throw new Error('no')
    })
    await expect(refused).rejects.toThrow('no')
    const swallowed = store.write(async (transaction) => {
      note(transaction, 'never')
      await transaction.run('SELECT nonsense').catch(() => undefined)
    })
    expect(await outcomeOf(swallowed)).toBe('internal')
    await store.write(async (transaction) => {
      note(transaction, 'first')
      await insertThing(transaction, 'a')
      note(transaction, 'second')
      seen.push('work')
    })
    expect(seen).toEqual(['work', 'first', 'second'])
  },

  'at the moment of afterCommit others can read the change': async ({ store, open }) => {
    await makeThings(store)
    const other = await open()
    const seen = Promise.withResolvers<readonly string[]>()
    await store.write(async (transaction) => {
      await insertThing(transaction, 'a')
      transaction.afterCommit(() => seen.resolve(thingIds(other)))
    })
    expect(await seen.promise).toEqual(['a'])
  },

  'a statement after the end of its transaction is refused': async ({ store }) => {
    await makeThings(store)
    let escaped: Transaction | undefined
    await store.write(async (transaction) => {
      escaped = transaction
    })
    expect(escaped && (await outcomeOf(insertThing(escaped, 'late')))).toBe('internal')
    expect(await thingIds(store)).toEqual([])
  },
}
