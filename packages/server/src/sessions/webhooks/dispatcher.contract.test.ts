/** Webhooks on PostgreSQL: two servers write and deliver at once, and a receiver still gets every event once, in order. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresObstacle, startPostgres } from '../../../../../test/environment/postgres.ts'
import type { PrivatePostgres } from '../../../../../test/environment/postgres.ts'
import { createSealing } from '../../home/sealing.ts'
import { migrate } from '../../store/migrate.ts'
import { openPostgresStore } from '../../store/postgres/postgres-store.ts'
import type { Store } from '../../store/store.ts'
import { dueWebhooks } from '../../store/tables/webhooks.ts'
import { SYSTEM } from '../caller.ts'
import { NOW, openLedger } from '../events/contract/ledger.ts'
import { isGenuine, openReceiver } from './contract/receiver.ts'
import { startWebhookDispatcher } from './dispatcher.ts'
import { allowedAddresses } from './public-address.ts'
import { serveWebhook } from './serve-webhook.ts'
import { targetGuard } from './target-guard.ts'
import { createWebhooks } from './webhooks.ts'

const obstacle = postgresObstacle()

describe.skipIf(obstacle !== null)(`webhooks on PostgreSQL${obstacle === null ? '' : ` (cannot: ${obstacle})`}`, () => {
  let postgres: PrivatePostgres
  let stores: readonly Store[] = []

  beforeAll(async () => {
    postgres = await startPostgres()
    const { host, port, user, database } = postgres
    stores = await Promise.all([0, 1].map(() => openPostgresStore({ host, port, user, database })))
    for (const store of stores) await migrate(store)
  })
  afterAll(async () => {
    for (const store of stores) await store.close()
    await postgres.stop()
  })

  test('every event arrives once and in the order of its session', async () => {
    const receiver = await openReceiver()
    const ledgers = stores.map((store) => openLedger(store))
    const common = {
      sealing: createSealing(randomBytes(32)),
      guard: targetGuard(allowedAddresses(['127.0.0.0/8'])),
      clock: () => Date.now(),
      random: () => 1,
    }
    const [here] = stores
    const [ledger] = ledgers
    if (here === undefined || ledger === undefined) throw new Error('no store')
    const tenantId = await ledger.tenant()
    const { secret } = await createWebhooks({ ...common, store: here }).create(
      tenantId,
      { url: `http://127.0.0.1:${receiver.port}/`, types: ['session.refreshed'] },
      SYSTEM,
    )
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const dispatchers = stores.map((store, index) => {
      const listeners = ledgers[index]?.listeners ?? ledger.listeners
      return startWebhookDispatcher({ ...common, store, listeners, log, pollMs: 20 })
    })
    try {
      const sessions = await Promise.all([0, 1, 2, 3].map(() => ledger.session(tenantId)))
      const each = 20
      await Promise.all(
        ledgers.flatMap((writer) =>
          sessions.map(async (session) => {
            for (let n = 0; n < each / 2; n++)
              await writer.happen(session, { at: Date.now(), first: (transaction) => transaction.all('SELECT pg_current_xact_id()') })
          }),
        ),
      )
      await receiver.has(sessions.length * each)
      for (const { id } of sessions) {
        const seqs = receiver.received.filter(({ event }) => event.session_id === id).map(({ event }) => event.seq)
        expect(seqs).toEqual(Array.from({ length: each }, (_, index) => index + 2))
      }
      for (const received of receiver.received) expect(isGenuine(received, secret, Date.now() / 1000)).toBe(true)
    } finally {
      for (const dispatcher of dispatchers) await dispatcher.stop()
      await receiver.close()
    }
  })

  test('a transaction of more events than a page arrives whole, also when it is cut off or its end is dropped', async () => {
    const [store] = stores
    if (store === undefined) throw new Error('no store')
    const ledger = openLedger(store)
    let isBroken = true
    const receiver = await openReceiver((response, count) => response.writeHead(isBroken && count === 70 ? 500 : 200).end())
    let now = NOW
    const guard = targetGuard(allowedAddresses(['127.0.0.0/8']))
    const needs = { store, sealing: createSealing(randomBytes(32)), guard, clock: () => now, random: () => 1, timeoutMs: 10_000 }
    const serve = async () => {
      for (let isMore = true; isMore;) {
        isMore = false
        for (const row of await store.read((sql) => dueWebhooks(sql, now, '', 100)))
          if (row.tenantId === tenantId && (await serveWebhook(needs, row, new AbortController().signal))) isMore = true
      }
    }
    const tenantId = await ledger.tenant()
    const session = await ledger.session(tenantId)
    await createWebhooks(needs).create(tenantId, { url: `http://127.0.0.1:${receiver.port}/`, types: [] }, SYSTEM)
    try {
      await ledger.happen(session, { times: 120 })
      await serve()
      expect(receiver.received.length).toBe(70)
      isBroken = false
      now += 1000
      await serve()
      const seqs = receiver.received.map(({ event }) => event.seq)
      const whole = Array.from({ length: 120 }, (_, index) => index + 2)
      expect(seqs).toEqual([...whole.slice(0, 70), ...whole])
      await store.write((transaction) => transaction.run('DELETE FROM events WHERE session_id = ? AND seq > 100', session.id))
      await serve()
      expect(receiver.received.length).toBe(190)
      await ledger.happen(session)
      await serve()
      expect(receiver.received.slice(190).map(({ event }) => event.seq)).toEqual([122])
    } finally {
      await receiver.close()
    }
  })
})
