/** The operator's counts: right, and answered without looking at what is over. */
import { SESSION_STATES } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sampleSession } from '../../sessions/contract/sample-session.ts'
import { migrate } from '../migrate.ts'
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import type { Row, Sql, Store } from '../store.ts'
import { insertSession } from './sessions.ts'
import { countOpenSessions, countWebhooksBehind } from './state-counts.ts'
import { insertTenant } from './tenants.ts'
import type { Tenant } from './tenants.ts'
import { insertWebhook } from './webhooks.ts'
import type { WebhookRow } from './webhooks.ts'

let store: Store

beforeEach(async () => {
  store = await openSqliteStore(':memory:')
  await migrate(store)
})
afterEach(() => store.close())

const tenantOf = (id: string): Tenant => ({
  ...{ id, name: id, state: 'active', quotas: {}, version: 1, createdAt: 0 },
  policy: { admin_exec: false, packing: { profiles: [] }, ceilings: {} },
})

test('sessions of all tenants are counted by state, those that are over are not, and a state that none has is 0', async () => {
  await store.write(async (transaction) => {
    for (const tenantId of ['tnt_a', 'tnt_b']) {
      await insertTenant(transaction, tenantOf(tenantId))
      for (const state of SESSION_STATES.filter((each) => each !== 'active'))
        await insertSession(transaction, sampleSession({ tenantId, keyHash: state, state }))
    }
  })
  const counts = await store.read(countOpenSessions)
  expect(Object.fromEntries(counts)).toEqual({ pending: 2, idle: 2, active: 0, suspended: 2, closing: 2 })
})

test('an index of the open ones is enough for it', async () => {
  const plans: (readonly Row[])[] = []
  await store.read(async (sql) => {
    const explaining: Sql = {
      ...sql,
      async all(text, ...values) {
        plans.push(await sql.all(`EXPLAIN QUERY PLAN ${text}`, ...values))
        return []
      },
    }
    await countOpenSessions(explaining)
  })
  expect(plans.flat().map(({ detail }) => detail)).toContain('SCAN sessions USING COVERING INDEX sessions_open')
})

test('webhooks count that are being tried again', async () => {
  const webhook: WebhookRow = {
    ...{
      id: 'w',
      tenantId: 'tnt_a',
      url: 'https://example.com',
      target: null,
      secret: new Uint8Array(1),
      types: [],
      state: 'active',
      position: 0,
    },
    ...{ attempts: 0, nextAt: 0, lastProblem: null, version: 1, createdAt: 0, createdBy: 'x' },
  }
  await store.write(async (transaction) => {
    await insertTenant(transaction, tenantOf('tnt_a'))
    await insertWebhook(transaction, webhook)
    await insertWebhook(transaction, { ...webhook, id: 'x', attempts: 1 })
    await insertWebhook(transaction, { ...webhook, id: 'y', attempts: 3, state: 'paused' })
  })
  expect(await store.read(countWebhooksBehind)).toBe(1)
})
