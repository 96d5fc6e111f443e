/** What a deadline does that no sequence of one healthy server meets: a sandbox that never came up, a deadline stored too early. */
import { describe, expect, test } from 'vitest'
import { sampleSession } from '../contract/sample-session.ts'
import { nextDeadline, PROVISION_MS } from './deadlines.ts'
import { comeDue, overdue } from './due.ts'

const NOW = 10_000_000
const late = { state: 'pending', activityAt: NOW - PROVISION_MS, sandboxId: 'sbx_1' } as const

describe('a sandbox that does not come up in time', () => {
  test('fails a new session', () => {
    const { session } = comeDue(sampleSession({ ...late, pendingReason: 'create' }), NOW)
    expect(session).toMatchObject({ state: 'closing', closeReason: 'fail', closeDetail: 'provision_timeout' })
  })

  test('leaves one that had work before suspended, as long as it was', () => {
    const { session } = comeDue(sampleSession({ ...late, pendingReason: 'resume', suspendedAt: 7 }), NOW)
    expect(session).toMatchObject({ state: 'suspended', sandboxId: null, pendingReason: null, suspendedAt: 7 })
  })
})

test('a deadline is met at its moment, not before', () => {
  const idle = sampleSession({ activityAt: NOW, idleMs: 100 })
  expect([overdue(idle, NOW + 99), overdue(idle, NOW + 100)?.kind]).toEqual([null, 'idle'])
})

test('a stored deadline that is earlier than the real one is set right, once', () => {
  const early = sampleSession({ activityAt: NOW, deadlineAt: NOW - 1, deadline: 'idle' })
  const { session, events } = comeDue(early, NOW)
  expect([session.deadlineAt, events]).toEqual([nextDeadline(early)?.at, []])
  expect(comeDue(session, NOW).session).toBe(session)
})
