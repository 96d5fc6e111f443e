/** A session and its sandbox, where one server in order never comes: late news, other sandboxes, other servers. */
import { describe, expect, test } from 'vitest'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { sampleSession } from '../contract/sample-session.ts'
import { becomeReady, failToStart, loseSandbox, resetHome, resume, resumePending, takeOver } from './compute.ts'
import type { Step } from './step.ts'

const NOW = 10_000
const PLACE = { sandboxId: 'sbx_2', serverId: 'srv_2' }
const FAILURE = { code: 'backend_unavailable', message: 'no' }
const pending = sampleSession({ state: 'pending', pendingReason: 'resume', sandboxId: 'sbx_1', serverId: 'srv_1', activityAt: 1 })

describe('news of a sandbox', () => {
  const late: readonly (readonly [string, (session: SessionRow) => Step])[] = [
    ['that it is ready', (session) => becomeReady(session, 'sbx_1', 'intact', NOW)],
    ['that it could not be made', (session) => failToStart(session, 'sbx_1', FAILURE, NOW)],
  ]
  test.each(late)('%s is for the session that waits for it alone', (_news, apply) => {
    expect(apply(pending).session).not.toBe(pending)
    for (const differs of [{ sandboxId: 'sbx_9' }, { state: 'closing' }, { state: 'idle' }] as const) {
      const session = { ...pending, ...differs }
      expect(apply(session)).toEqual({ session, events: [] })
    }
  })

  test('that it is ready starts the idle time', () => {
    expect(becomeReady(pending, 'sbx_1', 'intact', NOW).session).toMatchObject({ state: 'idle', activityAt: NOW })
  })

  test('that it is gone is for the sessions in it alone', () => {
    const active = sampleSession({ state: 'active', running: 2, sandboxId: 'sbx_1' })
    expect(loseSandbox(active, 'sbx_1', NOW).session).toMatchObject({ state: 'suspended', running: 0, incarnation: 2, sandboxId: null })
    for (const differs of [{ sandboxId: 'sbx_9' }, { state: 'closing' }, { state: 'suspended' }] as const) {
      const session = { ...active, ...differs }
      expect(loseSandbox(session, 'sbx_1', NOW)).toEqual({ session, events: [] })
    }
  })
})

test('work that a closing session waits for is over when its sandbox is', () => {
  const draining = sampleSession({ state: 'closing', closeReason: 'release', running: 2, drainUntil: NOW + 1, sandboxId: 'sbx_1' })
  expect(loseSandbox(draining, 'sbx_1', NOW).session).toMatchObject({ state: 'closing', running: 0, drainUntil: NOW + 1 })
  expect(loseSandbox(draining, 'sbx_9', NOW).session).toBe(draining)
})

describe('resuming', () => {
  test.each([
    ['session_closed', { state: 'released' }],
    ['session_held', { state: 'suspended', heldAt: 1 }],
  ] as const)('is refused with %s', (code, differs) => {
    expect(() => resume(sampleSession(differs), PLACE, NOW)).toThrow(expect.objectContaining({ code }))
  })

  test('of what is served, or about to be, keeps the sandbox it has', () => {
    for (const state of ['pending', 'idle', 'active'] as const) {
      const session = sampleSession({ state, sandboxId: 'sbx_1' })
      expect(resume(session, PLACE, NOW)).toEqual({ session, events: [] })
    }
  })

  test('after a restart gives what is pending its full time, and nothing else', () => {
    expect(resumePending(pending, NOW).session.activityAt).toBe(NOW)
    const idle = sampleSession({ state: 'idle', activityAt: 1 })
    expect(resumePending(idle, NOW).session).toBe(idle)
  })
})

describe('resetting the home', () => {
  const idle = sampleSession({ state: 'idle', sandboxId: 'sbx_1', wish: { home: 'persistent', home_generation: 2 } })

  test('lets go of the sandbox, names another directory, and says so in event and notice', () => {
    const { session, events } = resetHome(idle, NOW)
    expect(session).toMatchObject({ state: 'suspended', sandboxId: null, wish: { home_generation: 3 } })
    expect(events.map(({ type }) => type)).toEqual(['session.suspended', 'home.reset'])
    const again = resume(session, PLACE, NOW).session
    expect(becomeReady(again, PLACE.sandboxId, 'intact', NOW).session.notice).toContain('the home directory was reset and is empty')
  })

  test('of a suspended session needs no sandbox to be given up', () => {
    const { session, events } = resetHome(sampleSession({ state: 'suspended', sandboxId: null }), NOW)
    expect([session, events]).toMatchObject([{ incarnation: 1, wish: { home_generation: 1 } }, [{ type: 'home.reset' }]])
  })

  test.each([
    ['busy', { running: 1 }, 'session_busy'],
    ['held', { heldAt: 1 }, 'session_held'],
    ['over', { state: 'released' }, 'session_closed'],
  ] as const)('is refused while the session is %s', (_, differs, code) => {
    expect(() => resetHome({ ...idle, ...differs }, NOW)).toThrow(expect.objectContaining({ code }))
  })
})

describe('taking over', () => {
  const served = sampleSession({ state: 'active', running: 1, serverId: 'srv_1', sandboxId: 'sbx_1' })

  test('what one hosts already is nothing', () => {
    expect(takeOver(served, 'srv_1', NOW).session).toBe(served)
  })

  test('what is served loses its sandbox and what ran there', () => {
    const after = { state: 'suspended', suspendReason: 'sandbox_lost', serverId: 'srv_2', sandboxId: null, running: 0, incarnation: 2 }
    expect(takeOver(served, 'srv_2', NOW).session).toMatchObject(after)
  })

  test('what is suspended stays so: nothing of it was lost', () => {
    const session = sampleSession({ state: 'suspended', suspendReason: 'idle', serverId: 'srv_1' })
    expect(takeOver(session, 'srv_2', NOW).session).toMatchObject({
      state: 'suspended',
      suspendReason: 'idle',
      incarnation: 1,
      serverId: 'srv_2',
    })
  })

  test('what closes goes on closing, and its clean-up knows which sandbox it was', () => {
    const session = { ...served, state: 'closing', closeReason: 'cancel' } as const
    expect(takeOver(session, 'srv_2', NOW).session).toMatchObject({ state: 'closing', serverId: 'srv_2', sandboxId: 'sbx_1', running: 0 })
  })
})
