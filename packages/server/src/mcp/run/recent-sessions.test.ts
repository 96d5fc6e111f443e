/** The sessions of conversations that were found a moment ago: for how long, and what makes them be looked for again. */
import { expect, test } from 'vitest'
import { createEventListeners } from '../../sessions/events/event-listeners.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { recentSessions } from './recent-sessions.ts'

function setUp() {
  const state = { now: 1000, finds: 0 }
  const listeners = createEventListeners()
  const recent = recentSessions({ listeners, clock: () => state.now })
  const found = (id: string) => ({ id, version: (state.finds += 1) }) as SessionRow
  const recall = async (key: string, id = 'ses_1') => (await recent.recall(key, async () => found(id))).version
  return { state, listeners, recent, found, recall }
}

test('one is looked for once, and again after some seconds, however often it is asked for', async () => {
  const { state, recall } = setUp()
  expect([await recall('a'), await recall('a'), await recall('b')]).toEqual([1, 1, 2])
  state.now += 4_999
  expect(await recall('a')).toBe(1)
  state.now += 1
  expect(await recall('a')).toBe(3)
  state.now -= 1
  expect(await recall('a')).toBe(4)
})

test('whatever happens to it makes it be looked for again, and what happens to others does not', async () => {
  const { listeners, recall } = setUp()
  await recall('a')
  await recall('b', 'ses_2')
  listeners.wake('tnt_1', 'ses_1')
  expect([await recall('a'), await recall('b', 'ses_2')]).toEqual([3, 2])
})

test('one that something happened to while it was looked for is handed on, and not remembered', async () => {
  const { listeners, recent, found, recall } = setUp()
  const slow = Promise.withResolvers<SessionRow>()
  const first = recent.recall('a', () => slow.promise)
  listeners.wake('tnt_1', 'ses_1')
  slow.resolve(found('ses_1'))
  expect((await first).version).toBe(1)
  expect(await recall('a')).toBe(2)
})

test('what was not found is looked for again', async () => {
  const { recent, recall } = setUp()
  await expect(recent.recall('a', () => Promise.reject(new Error('none')))).rejects.toThrow('none')
  expect(await recall('a')).toBe(1)
})

test('there are never more than some, and none is listened to without an end', async () => {
  let heard = 0
  const listeners = { ...createEventListeners(), listen: () => ((heard += 1), () => void (heard -= 1)), listenToAll: () => () => undefined }
  const recent = recentSessions({ listeners, clock: () => 0 })
  for (let at = 0; at < 2_000; at += 1) await recent.recall(`key ${at}`, async () => ({ id: `ses_${at}` }) as SessionRow)
  expect(heard).toBe(1_024)
  recent.close()
  expect(heard).toBe(0)
})
