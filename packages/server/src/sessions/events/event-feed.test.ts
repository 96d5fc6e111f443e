/** Followers share one reader: reads do not grow with them, and none misses, repeats or sees what it may not. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { untilHolds } from '../../../../../test/servers/eventually.ts'
import { migrate } from '../../store/migrate.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import type { Visibility } from '../caller.ts'
import { openLedger } from './contract/ledger.ts'
import type { Ledger, LedgerSession } from './contract/ledger.ts'
import { createPacedWakeUps } from './paced-wake-ups.ts'
import { createEventReader } from './read-events.ts'
import type { EventReader, FollowedEvents } from './read-events.ts'

const FOLLOWERS = 200

let opened: Store
let ledger: Ledger
let reader: EventReader
let tenantId: string
let reads = 0
let isFailing = false

beforeEach(async () => {
  opened = await openSqliteStore(':memory:')
  await migrate(opened)
  const counted: Store = {
    ...opened,
    read(work) {
      reads += 1
      return isFailing ? Promise.reject(new Error('the store is away')) : opened.read(work)
    },
  }
  isFailing = false
  ledger = openLedger(opened)
  reader = createEventReader({ store: counted, listeners: ledger.listeners })
  tenantId = await ledger.tenant()
})
afterEach(() => opened.close())

interface Seen {
  readonly events: string[]
  readonly done: Promise<void>
}

/** Collects `session seq` until the signal is aborted. */
function collect(followed: FollowedEvents): Seen {
  const events: string[] = []
  const done = (async () => {
    for await (const { session_id: id, seq } of followed) events.push(`${id} ${seq}`)
  })()
  done.catch(() => undefined)
  return { events, done }
}

const all = (): Visibility => ({ tenantId, owner: null, groups: [] })

async function happenTimes(session: LedgerSession, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await ledger.happen(session)
}

test('an event costs the same few reads however many follow the tenant or the session', async () => {
  const session = await ledger.session(tenantId)
  const ending = new AbortController()
  const seen = Array.from({ length: FOLLOWERS }, (_, index) =>
    collect(
      index % 2 === 0 ? reader.followTenant(all(), 'oldest', ending.signal) : reader.followSession(all(), session.id, 0, ending.signal),
    ),
  )
  await untilHolds(() => expect(seen.every(({ events }) => events.length === 1)).toBe(true))
  reads = 0
  await happenTimes(session, 10)
  await untilHolds(() => expect(seen.every(({ events }) => events.length === 11)).toBe(true))
  expect(reads).toBeLessThan(FOLLOWERS / 2)
  const expected = Array.from({ length: 11 }, (_, index) => `${session.id} ${index + 1}`)
  for (const { events } of seen) expect(events).toEqual(expected)
  ending.abort()
  await Promise.all(seen.map(({ done }) => done))
})

test('each follower sees the events of its own sessions and groups, and of one that was given to it', async () => {
  const anns = await ledger.session(tenantId, { owner: 'ann' })
  const bobs = await ledger.session(tenantId, { owner: 'bob', ownerGroup: 'red' })
  const ending = new AbortController()
  const of = (owner: string, ...groups: string[]) => collect(reader.followTenant({ tenantId, owner, groups }, 'oldest', ending.signal))
  const [ann, red, eve] = [of('ann'), of('eve', 'red'), of('eve')]
  const everything = collect(reader.followTenant(all(), 'oldest', ending.signal))
  await untilHolds(() => expect(everything.events).toHaveLength(2))
  await ledger.happen(anns)
  await ledger.happen(bobs)
  await untilHolds(() => expect(everything.events).toHaveLength(4))
  await opened.write((transaction) => transaction.run(`UPDATE sessions SET owner = 'eve' WHERE id = ?`, anns.id))
  await ledger.happen(anns)
  await untilHolds(() => expect(everything.events).toHaveLength(5))
  await untilHolds(() => expect(eve.events).toEqual([`${anns.id} 3`]))
  expect(ann.events).toEqual([`${anns.id} 1`, `${anns.id} 2`])
  await untilHolds(() => expect(red.events).toEqual([`${bobs.id} 1`, `${bobs.id} 2`, `${anns.id} 3`]))
  ending.abort()
})

test('a follower whose session was given to somebody else gets not_found and not the event', async () => {
  const session = await ledger.session(tenantId, { owner: 'ann' })
  const { signal } = new AbortController()
  const seen = collect(reader.followSession({ tenantId, owner: 'ann', groups: [] }, session.id, 0, signal))
  await untilHolds(() => expect(seen.events).toHaveLength(1))
  await opened.write((transaction) => transaction.run(`UPDATE sessions SET owner = 'bob' WHERE id = ?`, session.id))
  await ledger.happen(session)
  await expect(seen.done).rejects.toMatchObject({ code: 'not_found' })
  expect(seen.events).toHaveLength(1)
})

test('a follower that lags behind what the feed keeps misses nothing', async () => {
  const session = await ledger.session(tenantId)
  const ending = new AbortController()
  const quick = collect(reader.followTenant(all(), 'oldest', ending.signal))
  const slow = reader.followTenant(all(), 'oldest', ending.signal)[Symbol.asyncIterator]()
  expect((await slow.next()).value).toMatchObject({ seq: 1 })
  await happenTimes(session, 530)
  await untilHolds(() => expect(quick.events).toHaveLength(531))
  for (let seq = 2; seq <= 531; seq++) expect((await slow.next()).value).toMatchObject({ seq })
  expect(quick.events).toEqual(Array.from({ length: 531 }, (_, index) => `${session.id} ${index + 1}`))
  ending.abort()
})

test('a store that fails ends the streams with its error; a follower who comes afterwards is served', async () => {
  const session = await ledger.session(tenantId)
  const ending = new AbortController()
  const before = [
    collect(reader.followTenant(all(), 'now', ending.signal)),
    collect(reader.followSession(all(), session.id, 1, ending.signal)),
  ]
  await untilHolds(() => expect(reads).toBeGreaterThan(4))
  isFailing = true
  await ledger.happen(session)
  for (const { done } of before) await expect(done).rejects.toThrow('the store is away')
  isFailing = false
  const after = collect(reader.followTenant(all(), 'oldest', ending.signal))
  await ledger.happen(session)
  await untilHolds(() => expect(after.events).toEqual([1, 2, 3].map((seq) => `${session.id} ${seq}`)))
  ending.abort()
})

test('the event loop turns between groups of followers that are woken', async () => {
  let woken = 0
  let most = 0
  let sinceTurn = 0
  let isOver = false
  const turn = () => {
    sinceTurn = 0
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await createPacedWakeUps().run(
    Array.from({ length: 1_000 }, () => () => {
      woken += 1
      sinceTurn += 1
      most = Math.max(most, sinceTurn)
    }),
  )
  isOver = true
  expect(woken).toBe(1_000)
  expect(most).toBeLessThanOrEqual(64)
})
