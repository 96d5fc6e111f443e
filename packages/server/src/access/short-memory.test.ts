/** The short memory: for how long, how much, and what forgetting means to an answer on its way. */
import { expect, test } from 'vitest'
import { shortMemory } from './short-memory.ts'

function memory() {
  const state = { now: 1000, loads: 0 }
  const remembered = shortMemory<number>({ clock: () => state.now, lifeMs: 100, limit: 2 })
  const recall = (key: string) => remembered.recall(key, () => Promise.resolve((state.loads += 1)))
  return { state, remembered, recall }
}

test('an answer is asked for once while it is remembered, and again when its time is over', async () => {
  const { state, recall } = memory()
  expect([await recall('a'), await recall('a')]).toEqual([1, 1])
  state.now += 99
  expect(await recall('a')).toBe(1)
  state.now += 1
  expect(await recall('a')).toBe(2)
})

test('being asked for does not lengthen a life', async () => {
  const { state, recall } = memory()
  for (let step = 0; step < 5; step += 1) {
    await recall('a')
    state.now += 40
  }
  expect(state.loads).toBe(2)
})

test('a clock that was set back does not lengthen a life', async () => {
  const { state, recall } = memory()
  await recall('a')
  state.now -= 1
  expect(await recall('a')).toBe(2)
})

test('the one that was not asked for the longest makes room', async () => {
  const { recall } = memory()
  await recall('a')
  await recall('b')
  await recall('a')
  await recall('c')
  expect(await recall('a')).toBe(1)
  expect(await recall('b')).toBe(4)
})

test('that nothing was found is not remembered', async () => {
  const { remembered, recall } = memory()
  expect(await remembered.recall('a', () => Promise.resolve(null))).toBeNull()
  expect(await recall('a')).toBe(1)
})

test('an answer that was on its way when it was forgotten is not remembered', async () => {
  const { remembered, recall } = memory()
  const stale = Promise.withResolvers<number>()
  const first = remembered.recall('a', () => stale.promise)
  remembered.forget('a')
  stale.resolve(-1)
  expect(await first).toBe(-1)
  expect(await recall('a')).toBe(1)
})

test('everything can be forgotten at once, also what is on its way', async () => {
  const { remembered, recall } = memory()
  await recall('a')
  const stale = Promise.withResolvers<number>()
  const first = remembered.recall('b', () => stale.promise)
  remembered.forgetAll()
  stale.resolve(-1)
  expect(await first).toBe(-1)
  expect([await recall('a'), await recall('b')]).toEqual([2, 3])
})
