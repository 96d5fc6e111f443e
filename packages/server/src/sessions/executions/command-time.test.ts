/** How long a command may run. */
import { expect, test } from 'vitest'
import { timedCommand } from './command-time.ts'

const argv = ['true']
const profile = { timeout_ms: 40_000, max_timeout_ms: 60_000 }
const timeOf = (timeoutMs: number | undefined, usualTimeoutMs: number | undefined, wish = {}) =>
  timedCommand({ command: { argv, timeoutMs }, usualTimeoutMs }, wish).timeoutMs

test('without a profile it is what is asked for, else what is usual, else without end', () => {
  expect([timeOf(5, 30_000), timeOf(undefined, 30_000), timeOf(undefined, undefined)]).toEqual([5, 30_000, undefined])
})

test('a profile says what is usual, and no command gets more than its maximum', () => {
  expect([timeOf(5, 30_000, profile), timeOf(undefined, 30_000, profile)]).toEqual([5, 40_000])
  expect(timeOf(90_000, 30_000, profile)).toBe(60_000)
  // One that is to have no end has the longest there is.
  expect(timeOf(undefined, undefined, profile)).toBe(60_000)
})

test('named processes and terminals are meant to stay', () => {
  const command = { argv }
  expect(timedCommand({ command, name: 'web' }, profile)).toBe(command)
  const onTerminal = { argv, terminal: { cols: 80, rows: 24 } }
  expect(timedCommand({ command: onTerminal }, profile)).toBe(onTerminal)
})
