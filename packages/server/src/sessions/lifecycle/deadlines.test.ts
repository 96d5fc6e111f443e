/** When a session is due and when it will end, state by state. */
import { describe, expect, test } from 'vitest'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { sampleSession } from '../contract/sample-session.ts'
import { CLEANUP_MS, DRAINED_MS, expiryOf, nextDeadline, PROVISION_MS } from './deadlines.ts'

const TIMES = { activityAt: 1_000, idleMs: 100, retentionMs: 10_000, recordMs: 50_000 } as const
const session = (differs: Partial<SessionRow>) => sampleSession({ ...TIMES, ...differs })

describe('the next deadline', () => {
  const table: readonly (readonly [string, Partial<SessionRow>, ReturnType<typeof nextDeadline>])[] = [
    ['pending: its sandbox must come up', { state: 'pending' }, { at: 1_000 + PROVISION_MS, kind: 'provision' }],
    ['idle: its idle time', { state: 'idle' }, { at: 1_100, kind: 'idle' }],
    ['idle and held: none', { state: 'idle', heldAt: 1 }, null],
    ['active with work: none', { state: 'active', running: 1 }, null],
    ['active without work: soon idle', { state: 'active' }, { at: 1_000 + DRAINED_MS, kind: 'drained' }],
    ['active without work and held: all the same', { state: 'active', heldAt: 1 }, { at: 1_000 + DRAINED_MS, kind: 'drained' }],
    ['suspended: its retention, from when it was', { state: 'suspended', suspendedAt: 5_000 }, { at: 15_000, kind: 'retention' }],
    ['suspended and held: none', { state: 'suspended', suspendedAt: 5_000, heldAt: 1 }, null],
    ['closing with work: its drain', { state: 'closing', closingAt: 2_000, running: 1, drainUntil: 3_000 }, { at: 3_000, kind: 'drain' }],
    [
      'closing with work to be killed: its clean-up',
      { state: 'closing', closingAt: 2_000, running: 1 },
      { at: 2_000 + CLEANUP_MS, kind: 'cleanup' },
    ],
    [
      'closing after its drain: the clean-up has its full time',
      { state: 'closing', closingAt: 2_000, drainUntil: 3_000 },
      { at: 3_000 + CLEANUP_MS, kind: 'cleanup' },
    ],
    ['closed: its record', { state: 'released', closedAt: 7_000 }, { at: 57_000, kind: 'record' }],
    ['closed and held: none', { state: 'failed', closedAt: 7_000, heldAt: 1 }, null],
    ['the earliest of all: a lease', { state: 'idle', leaseAt: 1_050, lifetimeAt: 1_060 }, { at: 1_050, kind: 'lease' }],
    [
      'the earliest of all: a lifetime',
      { state: 'active', running: 1, leaseAt: 1_070, lifetimeAt: 1_060 },
      { at: 1_060, kind: 'lifetime' },
    ],
    [
      'a lease refreshed up to the lifetime ends by the lifetime',
      { state: 'suspended', leaseAt: 2_000, lifetimeAt: 2_000 },
      { at: 2_000, kind: 'lifetime' },
    ],
    ['hold stops neither lease nor lifetime', { state: 'idle', heldAt: 1, leaseAt: 9_000 }, { at: 9_000, kind: 'lease' }],
    [
      'what closes has no lease any more',
      { state: 'closing', closingAt: 2_000, leaseAt: 2_001 },
      { at: 2_000 + CLEANUP_MS, kind: 'cleanup' },
    ],
  ]
  test.each(table)('%s', (_claim, differs, due) => expect(nextDeadline(session(differs))).toEqual(due))
})

describe('the expiry that callers read', () => {
  const table: readonly (readonly [string, Partial<SessionRow>, ReturnType<typeof expiryOf>])[] = [
    ['an idle one is suspended first and ends with its retention', { state: 'idle' }, { at: 11_100, reason: 'retention' }],
    ['one that is released when idle ends with its idle time', { state: 'idle', onIdle: 'release' }, { at: 1_100, reason: 'idle' }],
    ['a busy one has none', { state: 'active', running: 1 }, { at: null, reason: null }],
    ['a held one has none', { state: 'idle', heldAt: 1 }, { at: null, reason: null }],
    ['a held suspended one has none', { state: 'suspended', suspendedAt: 5_000, heldAt: 1 }, { at: null, reason: null }],
    ['a busy one still has its lease', { state: 'active', running: 1, leaseAt: 2_000 }, { at: 2_000, reason: 'lease' }],
    ['a suspended one ends with its retention', { state: 'suspended', suspendedAt: 5_000 }, { at: 15_000, reason: 'retention' }],
    [
      'a lifetime wins over a lease at the same time',
      { state: 'idle', leaseAt: 2_000, lifetimeAt: 2_000 },
      { at: 2_000, reason: 'lifetime' },
    ],
    ['one that closes has none', { state: 'closing', closingAt: 1_000, leaseAt: 2_000 }, { at: null, reason: null }],
    ['a closed one has none', { state: 'expired', closedAt: 1_000, lifetimeAt: 2_000 }, { at: null, reason: null }],
  ]
  test.each(table)('%s', (_claim, differs, expiry) => expect(expiryOf(session(differs))).toEqual(expiry))
})
