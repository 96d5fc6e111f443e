/** Refresh, hold, transfer and labels: what moves, and what stays as it is. */
import { describe, expect, test } from 'vitest'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { sampleSession } from '../contract/sample-session.ts'
import { hold, refresh, relabel, transfer, unhold } from './care.ts'
import type { Refresh } from './care.ts'

const NOW = 10_000

describe('a refresh', () => {
  const table: readonly (readonly [string, Partial<SessionRow>, Refresh, Partial<SessionRow>])[] = [
    ['without a lease is only activity', { activityAt: 1 }, {}, { activityAt: NOW, leaseAt: null }],
    ['counts the present lease from now', { leaseMs: 500, leaseAt: 10_100 }, {}, { leaseAt: 10_500 }],
    ['gives a lease to one that had none', {}, { leaseMs: 700 }, { leaseMs: 700, leaseAt: 10_700 }],
    ['does not shorten', { leaseMs: 9_000, leaseAt: 19_000 }, { leaseMs: 100 }, { leaseMs: 100, leaseAt: 19_000 }],
    ['shortens when that is allowed', { leaseMs: 9_000, leaseAt: 19_000 }, { leaseMs: 100, allowShorten: true }, { leaseAt: 10_100 }],
    ['ends at the lifetime', { lifetimeAt: 11_000 }, { leaseMs: 5_000 }, { leaseAt: 11_000, lifetimeAt: 11_000 }],
    ['does not set activity back when the clock was', { activityAt: 20_000 }, {}, { activityAt: 20_000 }],
    ['of a suspended one is no activity', { state: 'suspended', activityAt: 1, leaseMs: 500 }, {}, { activityAt: 1, leaseAt: 10_500 }],
  ]
  test.each(table)('%s', (_claim, differs, wished, after) => {
    expect(refresh(sampleSession(differs), wished, NOW).session).toMatchObject(after)
  })

  test('says whether the lifetime cut it short', () => {
    const capped = (lifetimeAt: number) => refresh(sampleSession({ lifetimeAt }), { leaseMs: 1_000 }, NOW).events[0]?.data
    expect([capped(11_000), capped(10_999)]).toEqual([{ capped: false }, { capped: true }])
  })
})

describe('a hold', () => {
  test('is repeated without a change', () => {
    const held = sampleSession({ heldAt: 1, heldBy: 'olga', heldReason: 'first' })
    expect(hold(held, 'otto', 'second', NOW)).toEqual({ session: held, events: [] })
  })

  test('that is not there cannot be taken away, and nothing starts anew', () => {
    const free = sampleSession({ activityAt: 1 })
    expect(unhold(free, NOW)).toEqual({ session: free, events: [] })
  })

  test.each([
    ['idle', { activityAt: NOW }],
    ['suspended', { suspendedAt: NOW }],
    ['active', { activityAt: 1, suspendedAt: 2 }],
  ] as const)('taken off one that is %s starts its time anew', (state, after) => {
    const held = sampleSession({ state, heldAt: 1, activityAt: 1, suspendedAt: 2, running: state === 'active' ? 1 : 0 })
    expect(unhold(held, NOW).session).toMatchObject({ heldAt: null, heldBy: null, heldReason: null, ...after })
  })
})

describe('a transfer', () => {
  const wished = { owner: 'bob', ownerGroup: null, expectedVersion: 3 }

  test('to whom it belongs already changes nothing', () => {
    const session = sampleSession({ owner: 'bob', version: 3, packKey: 'shared' })
    expect(transfer(session, wished)).toEqual({ session, events: [] })
  })

  test('to another group of the same owner is one', () => {
    expect(transfer(sampleSession({ owner: 'bob', version: 3 }), { ...wished, ownerGroup: 'team' }).session.ownerGroup).toBe('team')
  })

  test('is refused for another version, for what is over, and for what shares a sandbox', () => {
    expect(() => transfer(sampleSession({ version: 4 }), wished)).toThrow(expect.objectContaining({ code: 'version_conflict' }))
    expect(() => transfer(sampleSession({ version: 3, state: 'released' }), wished)).toThrow(
      expect.objectContaining({ code: 'session_closed' }),
    )
    expect(() => transfer(sampleSession({ version: 3, packKey: 'shared' }), wished)).toThrow(
      expect.objectContaining({ code: 'invalid_state' }),
    )
  })
})

test('the labels of what is over stay as they are', () => {
  expect(() => relabel(sampleSession({ state: 'cancelled' }), { labels: { a: 'b' } })).toThrow(
    expect.objectContaining({ code: 'session_closed' }),
  )
})
