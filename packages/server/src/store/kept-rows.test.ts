/** What is kept is given only as what it still is. */
import { describe, expect, test } from 'vitest'
import { KeptRows } from './kept-rows.ts'

describe('kept rows', () => {
  const row = (id: string, version: number) => ({ id, version, text: `${id} ${version}` })

  test('a row is given in its version and in no other', () => {
    const kept = new KeptRows<ReturnType<typeof row>>(2)
    kept.keep(row('a', 3))
    expect(kept.get('a', 3)).toEqual(row('a', 3))
    expect([kept.get('a', 2), kept.get('a', 4), kept.get('b', 3)]).toEqual([undefined, undefined, undefined])
    kept.keep(row('a', 4))
    expect([kept.get('a', 3), kept.get('a', 4)]).toEqual([undefined, row('a', 4)])
  })

  test('the one that was changed longest ago gives way', () => {
    const kept = new KeptRows<ReturnType<typeof row>>(2)
    for (const id of ['a', 'b', 'a', 'c']) kept.keep(row(id, 1))
    expect(['a', 'b', 'c'].map((id) => kept.get(id, 1)?.id)).toEqual(['a', undefined, 'c'])
  })
})
