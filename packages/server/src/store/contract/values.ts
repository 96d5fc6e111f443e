/**
 * Store contract, values: what goes in comes out, or is refused, alike on both engines.
 *
 * Stands beside the flow.
 */
import { expect } from 'vitest'
import type { SqlValue, Store } from '../store.ts'
import type { Proofs } from './subject.ts'
import { outcomeOf } from './things.ts'

const TEXTS = [
  '',
  'plain',
  `it's "quoted"`,
  '🦀 crab, 漢字, é',
  '? $1 ?? :name @x',
  'line\nbreak\ttab\\',
  '%_',
  `'; DROP TABLE kept; --`,
  '5',
  'null',
]
const NUMBERS = [0, 1, -1, 2 ** 31, -(2 ** 31), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
const BYTES = [new Uint8Array(), new Uint8Array([0]), Uint8Array.from({ length: 256 }, (_, byte) => byte)]

export const VALUES: Proofs = {
  'texts, numbers, bytes and null come back as they went in': async ({ store, dialect }) => {
    await makeKept(store, dialect === 'sqlite' ? 'BLOB' : 'BYTEA')
    for (const text of TEXTS) expect(await roundTrip(store, 'text', text)).toBe(text)
    for (const number of NUMBERS) expect(await roundTrip(store, 'number', number)).toBe(number)
    for (const bytes of BYTES) {
      const found = await roundTrip(store, 'bytes', bytes)
      expect(found).toStrictEqual(bytes)
      expect(Buffer.isBuffer(found)).toBe(false)
    }
    for (const column of ['text', 'number', 'bytes']) expect(await roundTrip(store, column, null)).toBeNull()
  },

  'a large text and large bytes come back whole': async ({ store, dialect }) => {
    await makeKept(store, dialect === 'sqlite' ? 'BLOB' : 'BYTEA')
    const text = '🦀?'.repeat(300_000)
    const bytes = Uint8Array.from({ length: 1_000_000 }, (_, index) => index % 251)
    expect((await roundTrip(store, 'text', text)) === text).toBe(true)
    expect(Buffer.from((await roundTrip(store, 'bytes', bytes)) as Uint8Array).equals(bytes)).toBe(true)
  },

  'what one engine could not keep exactly is refused by both, and nothing is changed': async ({ store, dialect }) => {
    await makeKept(store, dialect === 'sqlite' ? 'BLOB' : 'BYTEA')
    for (const text of ['a\0b', '\ud83e', 'x\udc00y']) expect(await outcomeOf(roundTrip(store, 'text', text))).toBe('invalid_request')
    for (const number of [1.5, Number.NaN, Infinity, 2 ** 53]) expect(await outcomeOf(roundTrip(store, 'number', number))).toBe('internal')
    expect(await store.read((sql) => sql.all('SELECT * FROM kept'))).toEqual([])
  },

  'a question mark in a string, a quoted name or a comment is no placeholder': async ({ store, dialect }) => {
    await makeKept(store, dialect === 'sqlite' ? 'BLOB' : 'BYTEA')
    await roundTrip(store, 'text', 'it')
    const text = `SELECT '?' AS one, 'it''s ?' AS two, number AS "three?" -- really?
      FROM kept /* is it? */ WHERE text = ? AND number IS NULL`
    expect(await store.read((sql) => sql.get(text, 'it'))).toEqual({ one: '?', two: `it's ?`, 'three?': null })
  },

  'counts, sums, truth values and whole divisions are numbers, the same on both': async ({ store, dialect }) => {
    await makeKept(store, dialect === 'sqlite' ? 'BLOB' : 'BYTEA')
    for (const number of [2, 5]) await store.write((transaction) => transaction.run('INSERT INTO kept (number) VALUES (?)', number))
    const text = `SELECT COUNT(*) AS counted, SUM(number) AS total, MAX(number) AS largest, MAX(number) / ? AS half,
      COUNT(*) = 2 AS truth, COUNT(*) > 9 AS lie FROM kept LIMIT ?`
    expect(await store.read((sql) => sql.get(text, 2, 1))).toEqual({ counted: 2, total: 7, largest: 5, half: 2, truth: 1, lie: 0 })
  },

  'a change tells how many rows it touched; a returning one gives them': async ({ store, dialect }) => {
    await makeKept(store, dialect === 'sqlite' ? 'BLOB' : 'BYTEA')
    const answers = await store.write(async (transaction) => [
      await transaction.run('INSERT INTO kept (number) VALUES (1), (2), (3)'),
      await transaction.run('UPDATE kept SET number = number WHERE number > ?', 1),
      await transaction.run('DELETE FROM kept WHERE number > ?', 9),
      await transaction.all('UPDATE kept SET number = 7 WHERE number = ? RETURNING number', 3),
      await transaction.get('SELECT number FROM kept WHERE number = ?', 99),
    ])
    expect(answers).toEqual([3, 2, 0, [{ number: 7 }], undefined])
  },

  'more different texts than are kept prepared still work': async ({ store }) => {
    const answers = await store.read(async (sql) => {
      const found: SqlValue[] = []
      for (let number = 0; number < 600; number++) found.push((await sql.get(`SELECT ${number} AS number`))?.number ?? null)
      found.push((await sql.get('SELECT 0 AS number'))?.number ?? null)
      return found
    })
    expect(answers).toEqual([...Array.from({ length: 600 }, (_, number) => number), 0])
  },
}

async function makeKept(store: Store, bytes: string): Promise<void> {
  await store.write((transaction) => transaction.run(`CREATE TABLE kept (text TEXT, number BIGINT, bytes ${bytes})`))
}

async function roundTrip(store: Store, column: string, value: SqlValue): Promise<SqlValue | undefined> {
  await store.write(async (transaction) => {
    await transaction.run('DELETE FROM kept')
    await transaction.run(`INSERT INTO kept (${column}) VALUES (?)`, value)
  })
  const row = await store.read((sql) => sql.get(`SELECT ${column} AS value FROM kept`))
  return row?.value
}
