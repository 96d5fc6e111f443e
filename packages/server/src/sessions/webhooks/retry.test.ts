/** When a failed event is tried again. */
import { expect, test } from 'vitest'
import { afterFailure } from './retry.ts'

const event = { id: 'evt_1', at: 0 }
const failed = (attempts: number, now: number, chance = 1) =>
  afterFailure({ event, attempts, problem: 'status 500', now, random: () => chance })

test('the wait doubles up to an hour, and half of it is chance', () => {
  const waits = [0, 1, 2, 3, 11, 12, 20].map((attempts) => failed(attempts, 1000).nextAt - 1000)
  expect(waits).toEqual([1000, 2000, 4000, 8000, 2_048_000, 3_600_000, 3_600_000])
  expect(failed(3, 0, 0).nextAt).toBe(4000)
})

test('an event has 30 attempts and 24 hours', () => {
  const day = 24 * 3_600_000
  expect([failed(28, 1), failed(29, 1)].map(({ isGivenUp }) => isGivenUp)).toEqual([false, true])
  expect([failed(0, day - 1), failed(0, day)].map(({ isGivenUp }) => isGivenUp)).toEqual([false, true])
  expect(failed(29, 1).lastProblem).toBe('1970-01-01T00:00:00.001Z gave up on evt_1 after 30 attempts: status 500')
})

test('what is recorded of a problem is bounded', () => {
  const { lastProblem } = afterFailure({ event, attempts: 0, problem: 'x'.repeat(10_000), now: 0, random: () => 0 })
  expect(lastProblem.length).toBe(300)
})
