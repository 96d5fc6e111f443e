/** The bound of a workspace that is over it. */
import { expect, test } from 'vitest'
import { exceeds, lowered, overWords, stretched } from './usage.ts'

const MEBIBYTE = 2 ** 20
const BOUNDS = { bytes: 100, entries: 10, hidden: 0 }
const held = (bytes: number, entries = 5, hidden = 0) => ({ bytes, entries, hidden })

test('whoever is over may remove and add next to nothing', () => {
  const ceiling = stretched(BOUNDS, held(64 * MEBIBYTE, 5, 1))
  expect(ceiling).toEqual(held(66 * MEBIBYTE, 10, 1))
  expect(exceeds(held(66 * MEBIBYTE), ceiling)).toBe(false)
  expect(exceeds(held(66 * MEBIBYTE + 1), ceiling)).toBe(true)
  expect(stretched(BOUNDS, held(100, 11))).toEqual(held(100, 27))
  expect(stretched(BOUNDS, held(100, 10))).toEqual(BOUNDS)
})

test('the ceiling follows what is removed, never what is added', () => {
  const ceiling = stretched(BOUNDS, held(64 * MEBIBYTE, 5, 1))
  expect(lowered(ceiling, BOUNDS, held(65 * MEBIBYTE, 5, 1))).toEqual(ceiling)
  const less = lowered(ceiling, BOUNDS, held(32 * MEBIBYTE))
  expect(less).toEqual(held(33.5 * MEBIBYTE, 10))
  expect(lowered(less, BOUNDS, held(20))).toEqual(BOUNDS)
})

test('the notice tells what is too much, and nothing else', () => {
  expect(overWords({ bytes: 300, entries: 5, hidden: 0 }, BOUNDS)).toMatch(/holds 300 bytes of 100 that are allowed\. Remove/)
  expect(overWords({ bytes: 3, entries: 50, hidden: 1 }, BOUNDS)).toMatch(
    /holds 50 entries of 10 that are allowed, directories that are too deep/,
  )
})
