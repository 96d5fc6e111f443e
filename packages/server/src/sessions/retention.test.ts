/** Removal keeps up with what is added, and does not hold up the requests beside it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from '../store/migrate.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import { deleteEventsBefore, insertEvent } from '../store/tables/events.ts'
import { createLog } from '../telemetry/log.ts'
import { BATCH, createRetention } from './retention.ts'

const OVERDUE = 20_000
const silent = createLog({ level: 'error', format: 'json' }, () => undefined)

let store: Store
beforeEach(async () => {
  store = await openSqliteStore(':memory:')
  await migrate(store)
})
afterEach(() => store.close())

async function addEvents(count: number, at: number): Promise<void> {
  await store.write(async (transaction) => {
    for (let seq = 1; seq <= count; seq += 1)
      await insertEvent(transaction, { tenantId: 'tnt_a', sessionId: `ses_${at}`, seq, type: 'execution.started', at, body: '{}' })
  })
}
const countEvents = async () => Number((await store.read((sql) => sql.get('SELECT count(*) AS n FROM events')))?.n)

/** The rule as the server has it. */
const eventRule = (onBatch: (removed: number) => void = () => undefined) => ({
  name: 'events',
  async removeBatch() {
    const removed = await store.write((transaction) => deleteEventsBefore(transaction, 100, BATCH), 'process')
    onBatch(removed)
    return removed === BATCH
  },
})

test('one round removes everything that is overdue, in bounded batches, and nothing else', async () => {
  await addEvents(OVERDUE, 1)
  await addEvents(10, 200)
  const batches: number[] = []
  await createRetention([eventRule((removed) => batches.push(removed))], silent).run()
  expect(await countEvents()).toBe(10)
  expect(Math.max(...batches)).toBeLessThanOrEqual(BATCH)
})

test('other writers get their turn between two batches', async () => {
  await addEvents(OVERDUE, 1)
  const round = { isOver: false }
  const running = createRetention([eventRule()], silent)
    .run()
    .finally(() => (round.isOver = true))
  let written = 0
  while (!round.isOver) {
    await store.write((transaction) => transaction.run('UPDATE tenants SET version = version'), 'process')
    written += 1
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  await running
  expect(written).toBeGreaterThan(OVERDUE / BATCH)
})

test('a rule that fails is logged and keeps no other from its work; calls that overlap share a round', async () => {
  await addEvents(BATCH * 2, 1)
  const lines: string[] = []
  const log = createLog({ level: 'error', format: 'json' }, (line) => lines.push(line))
  let calls = 0
  const failing = { name: 'broken', removeBatch: () => Promise.reject(new Error(`call ${(calls += 1)}`)) }
  const retention = createRetention([failing, eventRule()], log)
  await Promise.all([retention.run(), retention.run()])
  expect(await countEvents()).toBe(0)
  expect(lines).toEqual([expect.stringMatching(/retention-failed.*"rule":"broken".*call 1/)])
})

test('a round ends at the next batch once it is stopped', async () => {
  await addEvents(OVERDUE, 1)
  let batches = 0
  const retention = createRetention([eventRule(() => (batches += 1))], silent)
  const running = retention.run()
  await retention.stop()
  await running
  expect(batches).toBe(1)
})
