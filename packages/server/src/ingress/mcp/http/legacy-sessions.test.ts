/** How long sessions of clients from before are kept, and for whom. */
import { describe, expect, test } from 'vitest'
import type { Exchange } from './exchange.ts'
import { createLegacySessions } from './legacy-sessions.ts'
import { GATEWAY_LIMITS } from './limits.ts'
import { outboxes } from './outbox.ts'

function sessionsAt(clock: { now: number }, limits = {}) {
  let last = 0
  const newOutbox = outboxes(GATEWAY_LIMITS)
  return createLegacySessions({
    ...{ limits: { ...GATEWAY_LIMITS, ...limits }, clock: () => clock.now, newId: () => `mcp_${(last += 1)}`, newOutbox },
  })
}

const who = { info: {}, capabilities: {} }
const by = (visitor: string, holder = visitor) => ({ visitor, holder })

describe('sessions of clients from before', () => {
  test('end when nobody uses them, and not while somebody does', () => {
    const clock = { now: 0 }
    const sessions = sessionsAt(clock, { sessionIdleMs: 10 })
    const [idle, used, reading, calling] = [1, 2, 3, 4].map(() => sessions.create(by('one'), who))
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

  test('of one who asks make room for its new one, unless all are busy', () => {
    const clock = { now: 0 }
    const sessions = sessionsAt(clock, { sessionsPerVisitor: 2 })
    const first = sessions.create(by('one'), who)
    const others = sessions.create(by('another'), who)
    clock.now = 1
    const second = sessions.create(by('one'), who)
    clock.now = 2
    sessions.find(first.id, 'one')
    const third = sessions.create(by('one'), who)
    expect([first, second, third].map(({ id }) => sessions.find(id, 'one') !== null)).toEqual([true, false, true])
    expect(sessions.find(others.id, 'another')).not.toBeNull()
    first.read()
    third.read()
    expect(() => sessions.create(by('one'), who)).toThrow('2 MCP clients are busy already')
  })

  test('of whoever has the most make room when there are too many', () => {
    const clock = { now: 0 }
    const sessions = sessionsAt(clock, { sessions: 3 })
    const quiet = sessions.create(by('quiet'), who)
    clock.now = 1
    const many = [1, 2].map((n) => sessions.create(by('greedy', `conversation ${n}`), who))
    sessions.create(by('new'), who)
    expect(sessions.find(quiet.id, 'quiet')).not.toBeNull()
    expect(many.map(({ id, holder }) => sessions.find(id, holder) !== null)).toEqual([false, true])
  })
})
