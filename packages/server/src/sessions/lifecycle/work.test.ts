/** Work as a row may meet it in between: held, moved on, counted already, noted late. */
import { describe, expect, test } from 'vitest'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { sampleSession } from '../contract/sample-session.ts'
import { DRAINED_MS } from './deadlines.ts'
import { becomeIdle, beginWork, endWork, noteActivity } from './work.ts'

const NOW = 10_000
const RULES = { maxRunning: 2, expectedIncarnation: 3 }
const ready = sampleSession({ incarnation: 3, activityAt: 1 })

describe('work', () => {
  const refused: readonly (readonly [string, Partial<SessionRow>])[] = [
    ['session_closed', { state: 'closing' }],
    ['session_held', { heldAt: 1 }],
    ['incarnation_changed', { incarnation: 4 }],
    ['session_unavailable', { state: 'pending' }],
    ['session_unavailable', { state: 'suspended' }],
    ['quota_exceeded', { state: 'active', running: 2 }],
  ]
  test.each(refused)('is refused with %s', (code, differs) => {
    expect(() => beginWork({ ...ready, ...differs }, RULES, NOW)).toThrow(expect.objectContaining({ code }))
  })

  test('makes an idle session active, says so once, and is activity', () => {
    const first = beginWork(ready, RULES, NOW)
    expect([first.session, first.events]).toMatchObject([{ state: 'active', running: 1, activityAt: NOW }, [{ type: 'session.active' }]])
    expect(beginWork(first.session, RULES, NOW).events).toEqual([])
  })

  test('that is not counted cannot end', () => {
    expect(endWork(ready, null, NOW).session).toBe(ready)
  })

  test('that ends takes along the notice it carried, and no other', () => {
    const busy = { ...ready, state: 'active', running: 1, notice: 'news' } as const
    expect(
      [endWork(busy, 'news', NOW), endWork(busy, null, NOW), endWork(busy, 'old news', NOW)].map(({ session }) => session.notice),
    ).toEqual([null, 'news', 'news'])
  })

  test('never sets activity back', () => {
    const busy = { ...ready, state: 'active', running: 1, activityAt: NOW + 1 } as const
    expect(endWork(busy, null, NOW).session.activityAt).toBe(NOW + 1)
    expect(noteActivity(busy, NOW).session).toBe(busy)
  })

  test('is noted only where some can be', () => {
    for (const state of ['pending', 'suspended', 'closing', 'released'] as const) {
      const session = { ...ready, state }
      expect(noteActivity(session, NOW).session).toBe(session)
    }
  })
})

test.each([
  ['runs again', { running: 1 }],
  ['is not active', { state: 'suspended' }],
  ['ended just now', { activityAt: NOW - DRAINED_MS + 1 }],
] as const)('a session becomes idle a while after its last work, but not when it %s', (_why, differs) => {
  const drained = { ...ready, state: 'active', activityAt: NOW - DRAINED_MS } as const
  expect(becomeIdle(drained, NOW).session.state).toBe('idle')
  const session = { ...drained, ...differs }
  expect(becomeIdle(session, NOW).session).toBe(session)
})
