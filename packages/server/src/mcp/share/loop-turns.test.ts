/** Long work on the event loop: fair, and short in each turn. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { inTurns } from './loop-turns.ts'

/** Takes the loop for so long. */
function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test('a hundred works that meet take no more of one turn than a few of their pieces', async () => {
  let pieces = 0
  const ended = Promise.all(
    Array.from({ length: 100 }, () => {
      let left = 3
      return new Promise<void>((resolve) => {
        inTurns(() => {
          busy(1)
          pieces += 1
          left -= 1
          if (left === 0) resolve()
          return left === 0
        })
      })
    }),
  )
  const perTurn: number[] = []
  for (let seen = 0; seen < 300; seen = pieces) {
    await nextTurn()
    perTurn.push(pieces - seen)
  }
  await ended
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(8)
})

test('a thousand short pieces take several turns too', async () => {
  let done = 0
  for (let piece = 0; piece < 1_000; piece += 1)
    inTurns(() => {
      done += 1
      return true
    })
  const perTurn: number[] = []
  for (let seen = 0; seen < 1_000; seen = done) {
    await nextTurn()
    perTurn.push(done - seen)
  }
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(32)
})

test('pieces of different works take turns, so a short one does not wait for the end of a long one', async () => {
  const order: string[] = []
  const work = (name: string, count: number) =>
    new Promise<void>((resolve) => {
      let left = count
      inTurns(() => {
        order.push(name)
        left -= 1
        if (left === 0) resolve()
        return left === 0
      })
    })
  await Promise.all([work('long', 4), work('short', 1), work('other', 2)])
  expect(order).toEqual(['long', 'short', 'other', 'long', 'other', 'long', 'long'])
})
