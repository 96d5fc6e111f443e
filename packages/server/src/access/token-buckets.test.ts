/** Token buckets: so many at once, so many a second, and never more of them than allowed. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tokenBuckets } from './token-buckets.ts'

function make(rate: { readonly perSecond: number; readonly burst: number; readonly limit?: number }) {
  const time = { now: 1_000_000 }
  return { time, ...tokenBuckets({ clock: () => time.now, limit: 3, ...rate }) }
}

test('a burst passes, then one for each token that time brings', () => {
  const { time, take } = make({ perSecond: 2, burst: 3 })
  expect([take('a'), take('a'), take('a'), take('a')]).toEqual([0, 0, 0, 500])
  time.now += 499
  expect(take('a')).toBe(1)
  time.now += 1
  expect([take('a'), take('a')]).toEqual([0, 500])
})

test('a refusal takes nothing, so that waiting as long as was said is enough', () => {
  const { time, take } = make({ perSecond: 3, burst: 1 })
  take('a')
  const wait = take('a')
  for (let more = 0; more < 100; more += 1) take('a')
  time.now += wait
  expect(take('a')).toBe(0)
})

test('each name has its own', () => {
  const { take } = make({ perSecond: 1, burst: 1 })
  expect([take('a'), take('b'), take('a'), take('b')]).toEqual([0, 0, 1000, 1000])
})

test('asking how long to wait takes nothing', () => {
  const { wait, take } = make({ perSecond: 1, burst: 1 })
  expect([wait('a'), wait('a'), take('a'), wait('a')]).toEqual([0, 0, 0, 1000])
})

test('what was charged beyond what was there has to come in first, but for no more than a minute', () => {
  const { wait, charge, time } = make({ perSecond: 2, burst: 1 })
  for (let failure = 0; failure < 4; failure += 1) charge('a')
  expect(wait('a')).toBe(2000)
  for (let failure = 0; failure < 1000; failure += 1) charge('a')
  expect(wait('a')).toBe(60_500)
  time.now += 60_500
  expect(wait('a')).toBe(0)
})

test('what is saved up is never more than the burst', () => {
  const { time, take } = make({ perSecond: 1000, burst: 2 })
  take('a')
  time.now += 3_600_000
  expect([take('a'), take('a'), take('a')]).toEqual([0, 0, 1])
})

test('a clock that is set back gives nothing away and locks nobody out for long', () => {
  const { time, take } = make({ perSecond: 1, burst: 1 })
  take('a')
  time.now -= 3_600_000
  expect(take('a')).toBe(1000)
  time.now += 1000
  expect(take('a')).toBe(0)
})

test('the longest untouched makes room', () => {
  const { take, wait } = make({ perSecond: 1, burst: 1 })
  for (const name of ['a', 'b', 'c', 'a', 'd']) take(name)
  expect(['a', 'b', 'c', 'd'].map((name) => wait(name) > 0)).toEqual([true, false, true, true])
})

test('over any time no more pass than the burst and what the time brings', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 200 }),
      (perSecond, burst, pauses) => {
        const { time, take } = make({ perSecond, burst })
        const begin = time.now
        let passed = 0
        for (const pause of pauses) {
          time.now += pause
          if (take('a') === 0) passed += 1
          expect(passed).toBeLessThanOrEqual(burst + ((time.now - begin) / 1000) * perSecond + 1e-6)
        }
      },
    ),
  )
})
