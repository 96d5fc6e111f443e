/** Content from outside stops at the bound. */
import { expect, test } from 'vitest'
import { createIntakes } from './intake.ts'

const KIB = 1024
const BOUNDS = { bytes: 100 * KIB, entries: 10, hidden: 0 }
const EMPTY = { bytes: 0, entries: 0, hidden: 0 }

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let piece = 0; piece < count; piece += 1) yield new Uint8Array(10 * KIB)
}
async function read(content: AsyncIterable<Uint8Array>): Promise<number> {
  let total = 0
  for await (const piece of content) total += piece.length
  return total
}

test('as much as there is room for comes through, however many bring it', async () => {
  const intakes = createIntakes(BOUNDS)
  const [one, two] = [intakes.open(EMPTY), intakes.open(EMPTY)]
  expect(await read(one.counted(pieces(5)))).toBe(50 * KIB)
  await expect(read(two.counted(pieces(5)))).rejects.toMatchObject({ code: 'no_space', details: { limit: BOUNDS.bytes } })
  expect(intakes.count).toBe(2)
  one.close()
  two.close()
  expect(intakes.count).toBe(0)
})

test('what a measurement has seen is not counted twice, and what came after it began is not forgotten', async () => {
  const intakes = createIntakes(BOUNDS)
  await read(intakes.open(EMPTY).counted(pieces(4)))
  intakes.measuring()
  await read(intakes.open(EMPTY).counted(pieces(2)))
  intakes.measured({ bytes: 44 * KIB, entries: 1, hidden: 0 })
  const last = intakes.open({ bytes: 44 * KIB, entries: 1, hidden: 0 })
  expect(await read(last.counted(pieces(2)))).toBe(20 * KIB)
  await expect(read(last.counted(pieces(2)))).rejects.toMatchObject({ code: 'no_space' })
})

test('a workspace with no entry left, or found to be over, takes nothing more', () => {
  const intakes = createIntakes(BOUNDS)
  expect(() => intakes.open({ ...EMPTY, entries: 10 })).toThrow(/remove files first/)
  expect(intakes.isTight).toBe(false)
  intakes.measured({ ...EMPTY, bytes: 51 * KIB })
  expect(intakes.isTight).toBe(true)
  const intake = intakes.open(EMPTY)
  intakes.refuse()
  expect(intake.refused.reason).toMatchObject({ code: 'no_space' })
})
