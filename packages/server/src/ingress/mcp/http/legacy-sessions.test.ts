/** How long sessions of clients from before are kept, and for whom. */
import { describe, expect, test } from 'vitest'
import type { Exchange } from './exchange.ts'
import { createLegacySessions } from './legacy-sessions.ts'
import { GATEWAY_LIMITS } from './limits.ts'

function sessionsAt(clock: { now: number }, limits = {}) {
  let last = 0
  return createLegacySessions({ limits: { ...GATEWAY_LIMITS, ...limits }, clock: () => clock.now, newId: () => `mcp_${(last += 1)}` })
}

const who = { info: {}, capabilities: {} }

describe('sessions of clients from before', () => {
  test('end when nobody uses them, and not while somebody does', () => {
    const clock = { now: 0 }
    const sessions = sessionsAt(clock, { sessionIdleMs: 10 })
    const [idle, used, reading, calling] = [1, 2, 3, 4].map(() => sessions.create('one', who))
    reading?.read()
    calling?.begin(1, {} as Exchange)
    clock.now = 9
    sessions.find(used?.id ?? '', 'one')
    clock.now = 11
    sessions.sweep()
    const isThere = [idle, used, reading, calling].map((session) => sessions.find(session?.id ?? '', 'one') !== null)
    expect(isThere).toEqual([false, true, true, true])
    expect(idle?.outbox.isOver).toBe(true)
  })

  test('of one holder make room for its new one, unless all are busy', () => {
    const clock = { now: 0 }
    const sessions = sessionsAt(clock, { sessionsPerHolder: 2 })
    const first = sessions.create('one', who)
    const others = sessions.create('another', who)
    clock.now = 1
    const second = sessions.create('one', who)
    clock.now = 2
    sessions.find(first.id, 'one')
    const third = sessions.create('one', who)
    expect([first, second, third].map(({ id }) => sessions.find(id, 'one') !== null)).toEqual([true, false, true])
    expect(sessions.find(others.id, 'another')).not.toBeNull()
    first.read()
    third.read()
    expect(() => sessions.create('one', who)).toThrow('2 MCP clients are busy already')
  })

  test('of whoever has the most make room when there are too many', () => {
    const clock = { now: 0 }
    const sessions = sessionsAt(clock, { sessions: 3 })
    const quiet = sessions.create('quiet', who)
    clock.now = 1
    const many = [1, 2].map(() => sessions.create('greedy', who))
    sessions.create('new', who)
    expect(sessions.find(quiet.id, 'quiet')).not.toBeNull()
    expect(many.map(({ id }) => sessions.find(id, 'greedy') !== null)).toEqual([false, true])
  })
})
