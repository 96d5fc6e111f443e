/** When the loop goes round without sleeping, and that it never does so for long. */
import { expect, test } from 'vitest'
import { promptHearing } from './prompt-hearing.ts'

function hearing() {
  let time = 0
  let rounds = 0
  let next: (() => void) | null = null
  const soon = (again: () => void) => {
    expect(next).toBeNull()
    next = again
  }
  const heard = promptHearing({ now: () => time, soon })
  return {
    ...heard,
    get isAwake() {
      return next !== null
    },
    /** Rounds of a fiftieth of a millisecond each, until it sleeps or so many are over. */
    go(most = Number.POSITIVE_INFINITY): number {
      const before = rounds
      while (next !== null && rounds - before < most) {
        const again: () => void = next
        next = null
        rounds += 1
        time += 0.02
        again()
      }
      return rounds - before
    },
  }
}

test('it is awake for a moment after what is said, for the answer and for what is said to that', () => {
  const it = hearing()
  for (let turn = 0; turn < 100; turn += 1) {
    it.said()
    expect(it.go(3)).toBe(3)
    it.heard()
    expect(it.isAwake).toBe(true)
  }
  expect(it.go()).toBeLessThan(30)
  expect(it.isAwake).toBe(false)
})

test('it does not wait long for an answer, however much is said', () => {
  const it = hearing()
  it.said()
  it.said()
  it.said()
  expect(it.go()).toBeLessThan(30)
  expect(it.isAwake).toBe(false)
})

test('where answers take long it is tried ever more seldom, and often again where they do not', () => {
  const it = hearing()
  let tries = 0
  for (let turn = 0; turn < 1_000; turn += 1) {
    it.said()
    tries += it.go() > 0 ? 1 : 0
    it.heard()
  }
  expect(tries).toBeGreaterThan(5)
  expect(tries).toBeLessThan(30)
  do {
    it.said()
    it.go(1)
    it.heard()
  } while (it.go() === 0)
  it.said()
  expect(it.isAwake).toBe(true)
})
