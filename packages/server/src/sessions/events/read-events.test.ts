/** Events read back: whole, in order, and only by who may see them. */
import type { SessionEvent } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from '../../store/migrate.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import { deleteEventsBefore } from '../../store/tables/events.ts'
import { NOW, openLedger } from './contract/ledger.ts'
import type { Ledger } from './contract/ledger.ts'
import { createEventReader } from './read-events.ts'
import type { EventReader } from './read-events.ts'

let store: Store
let ledger: Ledger
let reader: EventReader
let tenantId: string
const all = () => ({ tenantId, owner: null, groups: [] })
const of = (owner: string, ...groups: readonly string[]) => ({ tenantId, owner, groups })

beforeEach(async () => {
  store = await openSqliteStore(':memory:')
  await migrate(store)
  ledger = openLedger(store)
  reader = createEventReader({ store, listeners: ledger.listeners })
  tenantId = await ledger.tenant()
})
afterEach(() => store.close())

const seqs = (events: readonly SessionEvent[]) => events.map(({ seq }) => seq)

async function take(events: AsyncIterable<SessionEvent>, count: number, each: (event: SessionEvent) => unknown = () => {}) {
  const taken: SessionEvent[] = []
  if (count === 0) return taken
  for await (const event of events) {
    taken.push(event)
    await each(event)
    if (taken.length === count) break
  }
  return taken
}

test('a session is replayed after any sequence number, without gaps, in pages', async () => {
  const session = await ledger.session(tenantId)
  for (let n = 2; n <= 7; n++) await ledger.happen(session)
  for (let after = 0; after <= 7; after++) {
    const events = await reader.readSession(all(), session.id, after, 3)
    expect(seqs(events)).toEqual([1, 2, 3, 4, 5, 6, 7].filter((seq) => seq > after).slice(0, 3))
  }
})

test('a rolled back change leaves no event and no gap, and wakes nobody', async () => {
  const session = await ledger.session(tenantId)
  let woken = 0
  ledger.listeners.listen(session.id, () => (woken += 1))
  await expect(ledger.happen(session, { last: () => Promise.reject(new Error('no')) })).rejects.toThrow('no')
  expect(woken).toBe(0)
  await ledger.happen(session)
  expect(woken).toBe(1)
  expect(seqs(await reader.readSession(all(), session.id, 0, 10))).toEqual([1, 2])
})

test('an event on the wire has the fields of the change and its deadlines as times', async () => {
  const session = await ledger.session(tenantId)
  const [event] = await reader.readSession(all(), session.id, 0, 1)
  expect(event).toMatchObject({
    type: 'session.created',
    session_id: session.id,
    seq: 1,
    to: 'idle',
    actor: { type: 'system' },
    deadlines: { idle_at: new Date(NOW).toISOString(), lease_at: null },
    data: { running: 0 },
  })
  expect(event?.id).toMatch(/^evt_/)
})

test('a cursor before what is kept is expired and told the current number; the current number goes on', async () => {
  const session = await ledger.session(tenantId)
  for (let n = 2; n <= 4; n++) await ledger.happen(session, { at: NOW + n })
  const dropped = await store.write((transaction) => deleteEventsBefore(transaction, NOW + 3, 100))
  expect(dropped).toBe(2)
  const expired = { code: 'cursor_expired', details: { seq: 4 } }
  await expect(reader.readSession(all(), session.id, 0, 10)).rejects.toMatchObject(expired)
  await expect(reader.readSession(all(), session.id, 1, 10)).rejects.toMatchObject(expired)
  expect(seqs(await reader.readSession(all(), session.id, 2, 10))).toEqual([3, 4])
  await store.write((transaction) => deleteEventsBefore(transaction, NOW + 100, 100))
  await expect(reader.readSession(all(), session.id, 3, 10)).rejects.toMatchObject(expired)
  expect(await reader.readSession(all(), session.id, 4, 10)).toEqual([])
})

test('a hole in what is kept is never stepped over', async () => {
  const session = await ledger.session(tenantId)
  await ledger.happen(session, { at: NOW - 1000 }) // the clock went back
  await ledger.happen(session)
  await store.write((transaction) => deleteEventsBefore(transaction, NOW, 100))
  await expect(reader.readSession(all(), session.id, 0, 10)).rejects.toMatchObject({ code: 'cursor_expired' })
})

test('a cursor of the future is refused, because waiting for it would hide events', async () => {
  const session = await ledger.session(tenantId)
  await expect(reader.readSession(all(), session.id, 2, 10)).rejects.toMatchObject({ code: 'cursor_expired', details: { seq: 1 } })
})

test('old events are dropped in bounded batches, oldest first', async () => {
  const session = await ledger.session(tenantId)
  for (let n = 2; n <= 5; n++) await ledger.happen(session, { at: NOW + n })
  expect(await store.write((transaction) => deleteEventsBefore(transaction, NOW + 100, 2))).toBe(2)
  expect(seqs(await reader.readSession(all(), session.id, 2, 10))).toEqual([3, 4, 5])
})

test('who does not see a session gets the answer for one that does not exist', async () => {
  const session = await ledger.session(tenantId, { owner: 'ann', ownerGroup: 'red' })
  const other = await ledger.tenant()
  const ask = async (visibility: Parameters<EventReader['readSession']>[0], id: string) =>
    await reader.readSession(visibility, id, 0, 10).then(seqs, (error: Error) => error.message.replace(id, '…'))
  expect(await ask(of('ann'), session.id)).toEqual([1])
  expect(await ask(of('bob', 'red'), session.id)).toEqual([1])
  const missing = await ask(of('bob'), 'ses_0000000000000000')
  expect(await ask(of('bob', 'blue'), session.id)).toBe(missing)
  expect(await ask({ tenantId: other, owner: null, groups: [] }, session.id)).toBe(missing)
})

test("a tenant's events come in order, to each caller only those of visible sessions", async () => {
  const anns = await ledger.session(tenantId, { owner: 'ann' })
  const bobs = await ledger.session(tenantId, { owner: 'bob', ownerGroup: 'red' })
  const strangers = await ledger.session(await ledger.tenant(), { owner: 'ann' })
  for (const session of [bobs, anns, strangers, anns, bobs]) await ledger.happen(session)
  const ids = async (visibility: Parameters<EventReader['readTenant']>[0]) =>
    (await reader.readTenant(visibility, 'oldest', 100)).map(({ session_id: id, seq }) => `${id === anns.id ? 'ann' : 'bob'} ${seq}`)
  expect(await ids(all())).toEqual(['ann 1', 'bob 1', 'bob 2', 'ann 2', 'ann 3', 'bob 3'])
  expect(await ids(of('ann'))).toEqual(['ann 1', 'ann 2', 'ann 3'])
  expect(await ids(of('eve', 'red'))).toEqual(['bob 1', 'bob 2', 'bob 3'])
  expect(await ids(of('eve'))).toEqual([])
})

test("a tenant's events go on after an event's id; an unknown, a dropped and a foreign one are the same", async () => {
  const session = await ledger.session(tenantId)
  const bobs = await ledger.session(tenantId, { owner: 'bob' })
  await ledger.happen(session, { at: NOW + 5 })
  const [first, foreign] = await reader.readTenant(all(), 'oldest', 10)
  if (first === undefined || foreign === undefined) throw new Error('no events')
  expect(foreign.session_id).toBe(bobs.id)
  expect(seqs(await reader.readTenant(of('ann'), { after: first.id }, 10))).toEqual([2])
  const message = async (after: string) =>
    await reader.readTenant(of('ann'), { after }, 10).then(String, (error: Error) => error.message.replace(after, '…'))
  const unknown = await message('evt_0000000000000000')
  expect(unknown).toContain('no longer kept')
  expect(await message(foreign.id)).toBe(unknown)
  await store.write((transaction) => deleteEventsBefore(transaction, NOW + 1, 10))
  expect(await message(first.id)).toBe(unknown)
})

test('a follower gets what was and what comes, once each, and ends by its signal', async () => {
  const session = await ledger.session(tenantId)
  await ledger.happen(session)
  const ending = new AbortController()
  const seen: number[] = []
  for await (const { seq } of reader.followSession(all(), session.id, 0, ending.signal)) {
    seen.push(seq)
    if (seq < 250) await ledger.happen(session)
    else ending.abort()
  }
  expect(seen).toEqual(Array.from({ length: 250 }, (_, index) => index + 1))
})

test('an event that is committed while a follower reads or waits is not missed', async () => {
  const session = await ledger.session(tenantId)
  const ending = new AbortController()
  const following = take(reader.followTenant(all(), 'now', ending.signal), 300)
  const writing = (async () => {
    // Whether a write falls into a read or a wait changes from turn to turn.
    await Promise.resolve()
    await new Promise(setImmediate)
    for (let n = 2; n <= 301; n++) {
      await ledger.happen(session)
      if (n % 3 === 0) await new Promise(setImmediate)
    }
  })()
  await writing
  expect(seqs(await following)).toEqual(Array.from({ length: 300 }, (_, index) => index + 2))
})

test('a slow follower reads pages when it wants them', async () => {
  const session = await ledger.session(tenantId)
  const events = reader.followSession(all(), session.id, 0, new AbortController().signal)[Symbol.asyncIterator]()
  expect((await events.next()).value).toMatchObject({ seq: 1 })
  for (let n = 2; n <= 500; n++) await ledger.happen(session)
  for (let n = 2; n <= 500; n++) expect((await events.next()).value).toMatchObject({ seq: n })
  await events.return?.()
})
