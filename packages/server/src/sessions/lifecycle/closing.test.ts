/** The way out: who may still close, how long work may go on, and what is over with it. */
import { describe, expect, test } from 'vitest'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { sampleSession } from '../contract/sample-session.ts'
import { beginClosing, finishClosing, isDraining } from './closing.ts'

const NOW = 10_000
const CLEANUP = { executions: 0, killed: 0, verified: true, sandbox: 'destroyed', workspace: 'deleted' } as const
const release = { reason: 'release', detail: 'caller', drainMs: 500 } as const
const cancel = { reason: 'cancel', detail: 'caller' } as const

describe('closing', () => {
  const table: readonly (readonly [string, Partial<SessionRow>, Partial<SessionRow>])[] = [
    ['waits for running work', { state: 'active', running: 1 }, { state: 'closing', drainUntil: 10_500 }],
    ['waits for nothing when nothing runs', { state: 'idle' }, { state: 'closing', drainUntil: null }],
    ['waits no longer than the lifetime', { state: 'active', running: 1, lifetimeAt: 10_200 }, { drainUntil: 10_200 }],
    ['waits not at all once the lifetime is over', { state: 'active', running: 1, lifetimeAt: NOW }, { drainUntil: null }],
  ]
  test.each(table)('%s', (_claim, differs, after) => {
    expect(beginClosing(sampleSession(differs), release, NOW).session).toMatchObject(after)
  })

  const draining = sampleSession({ state: 'closing', closeReason: 'release', running: 1, drainUntil: 10_500 })

  test('by a cancel is possible while a release waits for work, and only then', () => {
    expect(beginClosing(draining, cancel, NOW).session).toMatchObject({ closeReason: 'cancel', drainUntil: null })
    const others: readonly Partial<SessionRow>[] = [
      { running: 0 },
      { drainUntil: NOW },
      { drainUntil: null },
      { closeReason: 'expire' },
      { state: 'released' },
    ]
    for (const differs of others) {
      const session = { ...draining, ...differs }
      expect(beginClosing(session, cancel, NOW)).toEqual({ session, events: [] })
    }
    expect(beginClosing(draining, release, NOW).session).toBe(draining)
  })

  test('drains only what is closing and has work and time', () => {
    expect(isDraining(draining, NOW)).toBe(true)
    for (const differs of [{ state: 'active' }, { running: 0 }, { drainUntil: null }, { drainUntil: NOW }] as const)
      expect(isDraining({ ...draining, ...differs }, NOW)).toBe(false)
  })
})

describe('a finished clean-up', () => {
  test('closes for the reason that was given, with nothing left running or bound', () => {
    const session = sampleSession({ state: 'closing', closeReason: 'expire', running: 2, sandboxId: 'sbx_1', notice: 'news' })
    expect(finishClosing(session, CLEANUP, NOW).session).toMatchObject({
      state: 'expired',
      running: 0,
      sandboxId: null,
      notice: null,
      closedAt: NOW,
    })
  })

  test.each(['active', 'released'] as const)('of one that is %s is none', (state) => {
    const session = sampleSession({ state, closeReason: state === 'released' ? 'cancel' : null })
    expect(finishClosing(session, CLEANUP, NOW)).toEqual({ session, events: [] })
  })
})
