/** The server's clock: what it does when the wall clock jumps, the machine sleeps, or the server restarts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLog } from '../telemetry/log.ts'
import { openSteadyClock } from './steady-clock.ts'
import type { SteadyClock } from './steady-clock.ts'

const START = Date.UTC(2026, 10, 17)
const HOUR = 3_600_000
const DAY = 24 * HOUR

let home: string
let machine: { wall: number; monotonic: number; sinceBoot: number; bootId: string | null }
let lines: string[]
let clock: SteadyClock

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-clock-'))
  machine = { wall: START, monotonic: 5_000.25, sinceBoot: 90_000, bootId: 'boot-1' }
  lines = []
  clock = start()
})
afterEach(() => {
  clock.close()
  rmSync(home, { recursive: true })
})

function start(): SteadyClock {
  return openSteadyClock({
    home,
    log: createLog({ level: 'warn', format: 'json' }, (line) => void lines.push(line)),
    clocks: {
      wall: () => machine.wall,
      monotonic: () => machine.monotonic,
      sinceBoot: () => machine.sinceBoot,
      bootId: () => machine.bootId,
    },
  })
}

function pass(milliseconds: number): void {
  machine.wall += milliseconds
  machine.monotonic += milliseconds
  machine.sinceBoot += milliseconds
}

/** As after `kill -9` when `isKilled`: nothing is saved at the end. */
function restart(isKilled = false): void {
  if (!isKilled) clock.close()
  machine.monotonic = 100
  clock = start()
}

test('follows the wall clock through steps of up to an hour', () => {
  pass(1_000)
  expect(clock.now()).toBe(START + 1_000)
  machine.wall += HOUR
  expect(clock.now()).toBe(START + 1_000 + HOUR)
  machine.wall -= HOUR
  expect(clock.now()).toBe(START + 1_000)
  expect(clock.jump()).toBeNull()
  expect(lines).toEqual([])
})

test.each([40 * DAY, -2 * HOUR])('goes on from the time before a jump of %i ms, and follows it after an hour', (byMs) => {
  machine.wall += byMs
  expect(clock.now()).toBe(START)
  pass(HOUR - 1)
  expect(clock.now()).toBe(START + HOUR - 1)
  expect(clock.jump()).toMatchObject({ byMs, followedAt: START + HOUR })
  expect(lines.join('')).toContain('clock-jumped')
  pass(1)
  expect(clock.now()).toBe(START + HOUR + byMs)
  expect(clock.jump()).toBeNull()
})

test('follows a jump at once when an operator confirms it', () => {
  expect(clock.confirm()).toBe(false)
  machine.wall += 40 * DAY
  expect(clock.now()).toBe(START)
  expect(clock.confirm()).toBe(true)
  expect(clock.now()).toBe(START + 40 * DAY)
  expect(clock.confirm()).toBe(false)
})

test('a wall clock that is set right again leaves no trace of the jump', () => {
  machine.wall += 40 * DAY
  clock.now()
  pass(60_000)
  machine.wall -= 40 * DAY
  expect(clock.now()).toBe(START + 60_000)
  expect(clock.jump()).toBeNull()
})

test('a second jump during the first waits an hour of its own', () => {
  machine.wall += 40 * DAY
  clock.now()
  pass(HOUR / 2)
  machine.wall += DAY
  expect(clock.jump()).toMatchObject({ byMs: 41 * DAY, followedAt: START + HOUR / 2 + HOUR })
})

test('a machine that slept for a night has no jump', () => {
  machine.wall += 8 * HOUR
  machine.sinceBoot += 8 * HOUR
  expect(clock.now()).toBe(START + 8 * HOUR)
  expect(lines).toEqual([])
})

test('a long downtime is no jump, within one boot and over several', () => {
  clock.close()
  pass(40 * DAY)
  restart(true)
  expect(clock.now()).toBe(START + 40 * DAY)
  clock.close()
  pass(40 * DAY)
  machine = { ...machine, bootId: 'boot-2', sinceBoot: 10_000 }
  restart(true)
  expect(clock.now()).toBe(START + 80 * DAY)
  expect(lines).toEqual([])
})

test('a restart does not confirm a jump, and finds one that happened meanwhile', () => {
  machine.wall += 40 * DAY
  expect(clock.now()).toBe(START)
  restart()
  expect(clock.now()).toBe(START)
  restart(true)
  expect(clock.jump()).toMatchObject({ byMs: 40 * DAY })
  clock.confirm()
  restart(true)
  expect(clock.jump()).toBeNull()
})

test('a machine that starts with a clock in the past goes on from the last known time', () => {
  clock.close()
  machine = { wall: 0, monotonic: 0, sinceBoot: 0, bootId: 'boot-2' }
  clock = start()
  expect(clock.now()).toBe(START)
  expect(clock.jump()).toMatchObject({ byMs: -START })
})

test('a damaged reference is ignored', () => {
  clock.close()
  writeFileSync(join(home, 'clock.json'), '{"wall":"soon"')
  clock = start()
  expect(clock.now()).toBe(START)
})
