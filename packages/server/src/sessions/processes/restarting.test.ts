/** When a process is started again, and when never. */
import { describe, expect, test } from 'vitest'
import { isOver, nextStartAt, restartsInARow, STEADY_MS } from './restarting.ts'

const RULES = { policy: 'on-failure', maxRestarts: null, backoffMs: 1_000, restarts: 0, inARow: 0, command: new Uint8Array(1) } as const
const FAILED = { status: 'completed', exitCode: 1, cancelAt: null, startedAt: 5_000, endedAt: 7_000 } as const

describe('a process is started again', () => {
  test('after a failure, whatever kind of failure it was', () => {
    for (const status of ['completed', 'timed_out', 'lost'] as const)
      expect(nextStartAt(RULES, { ...FAILED, status, exitCode: status === 'completed' ? 3 : null })).toBe(8_000)
    // By a signal.
    expect(nextStartAt(RULES, { ...FAILED, exitCode: null })).toBe(8_000)
  })

  test('after success only when it is to run always', () => {
    expect(nextStartAt(RULES, { ...FAILED, exitCode: 0 })).toBeNull()
    expect(nextStartAt({ ...RULES, policy: 'always' }, { ...FAILED, exitCode: 0 })).toBe(8_000)
    expect(nextStartAt({ ...RULES, policy: 'no' }, FAILED)).toBeNull()
    expect(nextStartAt(null, FAILED)).toBeNull()
  })

  test('after pauses that double up to half a minute, and begin again after a long run', () => {
    const pause = (inARow: number, ranMs = 0) =>
      (nextStartAt({ ...RULES, inARow }, { ...FAILED, startedAt: 0, endedAt: ranMs }) ?? 0) - ranMs
    expect([0, 1, 2, 3, 4, 5, 6, 1_000].map((inARow) => pause(inARow))).toEqual([
      ...[1_000, 2_000, 4_000, 8_000, 16_000],
      ...[30_000, 30_000, 30_000],
    ])
    expect(pause(5, STEADY_MS - 1)).toBe(30_000)
    expect(pause(5, STEADY_MS)).toBe(1_000)
    expect(restartsInARow({ inARow: 5 }, { ...FAILED, startedAt: 0, endedAt: STEADY_MS })).toBe(0)
  })
})

describe('a process is over', () => {
  test('once somebody asked for its end, however it ended', () => {
    expect(isOver(RULES, { ...FAILED, cancelAt: 6_000 })).toBe(true)
    expect(isOver({ ...RULES, policy: 'always' }, { ...FAILED, status: 'cancelled' })).toBe(true)
    expect(isOver({ ...RULES, policy: 'always' }, { ...FAILED, status: 'workspace_full' })).toBe(true)
    expect(isOver({ ...RULES, command: null }, FAILED)).toBe(true)
  })

  test('when it was restarted as often as it may be', () => {
    expect(isOver({ ...RULES, maxRestarts: 3, restarts: 2 }, FAILED)).toBe(false)
    expect(isOver({ ...RULES, maxRestarts: 3, restarts: 3 }, FAILED)).toBe(true)
    expect(isOver({ ...RULES, maxRestarts: 0 }, FAILED)).toBe(true)
  })

  test('when its first start failed, of which its caller was told; a later one is tried again', () => {
    const failed = { ...FAILED, status: 'not_started', exitCode: null } as const
    expect(isOver(RULES, failed)).toBe(true)
    expect(nextStartAt({ ...RULES, restarts: 1, inARow: 1 }, failed)).toBe(9_000)
  })

  test('but not while it runs', () => {
    const running = { ...FAILED, status: 'running', exitCode: null, endedAt: null } as const
    expect(isOver({ ...RULES, maxRestarts: 0 }, running)).toBe(false)
    expect(nextStartAt(RULES, running)).toBeNull()
  })
})
