/** What is kept, over REST: ages and quotas hold while sessions stay open, and their settings are named. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertEvent } from '../../store/tables/events.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'

let laboratory: Laboratory
beforeAll(async () => {
  laboratory = await openLaboratory({
    ...{ HOLDFAST_SESSIONS_RECORD_SECONDS: '1', HOLDFAST_EVENTS_RETENTION_SECONDS: '3600', HOLDFAST_QUOTAS_ANSWERS: '4k' },
  })
})
afterAll(() => laboratory.close())

const run = async (key: string, command: string, headers: Readonly<Record<string, string>> = {}) =>
  laboratory.post('/v1/exec', { session: 'kept', command, cwd: '/' }, { key, headers })
const quotas = async (key: string) => {
  const { items } = (await laboratory.send('/v1/quotas', { key })).body as {
    items: { quota: string; limit: number; used: number | null }[]
  }
  return Object.fromEntries(items.map(({ quota, limit, used }) => [quota, { limit, used }]))
}

test('records and output of ended executions go by age while their session is open', async () => {
  const ada = await laboratory.keyOf({ subject: 'ada' })
  const first = await run(ada, 'head -c 100000 /dev/zero')
  const session = (first.body['session'] as { id: string }).id
  const path = `/v1/sessions/${session}/executions/${first.field('execution_id')}`
  expect((await laboratory.send(path, { key: ada })).status).toBe(200)
  await expect
    .poll(async () => {
      await laboratory.plane.sessions.sweep()
      return (await laboratory.send(path, { key: ada })).status
    })
    .toBe(404)
  expect((await laboratory.send(`/v1/sessions/${session}`, { key: ada })).body['state']).not.toBe('released')
  expect((await run(ada, 'echo on')).body['stdout']).toBe('on\n')
})

test('one sweep removes every overdue event', async () => {
  const at = Date.now() - 3_700_000
  await laboratory.store.write(async (transaction) => {
    for (let seq = 1; seq <= 3_000; seq += 1)
      await insertEvent(transaction, { tenantId: 'tnt_default', sessionId: 'ses_old', seq, type: 'execution.started', at, body: '{}' })
  })
  // Positions grow with time, so the oldest come first.
  await laboratory.store.write((transaction) => transaction.run(`DELETE FROM events WHERE session_id <> 'ses_old'`))
  await laboratory.plane.sessions.sweep()
  const left = await laboratory.store.read((sql) => sql.get(`SELECT count(*) AS n FROM events WHERE session_id = 'ses_old'`))
  expect(Number(left?.['n'])).toBe(0)
})

test('a tenant that keeps as many answers as it may is told which setting that is; another tenant is not', async () => {
  const tenant = (await laboratory.post('/v1/tenants', { name: 'other' })).field('id')
  const [ben, eve] = [await laboratory.keyOf({ subject: 'ben', role: 'tenant_admin' }), await laboratory.keyOf({ subject: 'eve' }, tenant)]
  let refused = await run(ben, 'true', { 'idempotency-key': 'ben-0' })
  for (let n = 1; n < 40 && refused.status === 200; n += 1) refused = await run(ben, 'true', { 'idempotency-key': `ben-${n}` })
  expect(refused).toMatchObject({
    status: 429,
    body: { code: 'quota_exceeded', details: { quota: 'kept_answer_bytes', setting: 'quotas.answers' } },
  })
  expect(await run(ben, 'true', { 'idempotency-key': 'ben-0' })).toMatchObject({ status: 200, headers: { 'idempotency-replayed': 'true' } })
  expect((await run(ben, 'true')).status).toBe(200)
  expect((await run(eve, 'true', { 'idempotency-key': 'eve' })).status).toBe(200)

  const shown = await quotas(ben)
  expect(shown['kept_answer_bytes']).toMatchObject({ limit: 4096 })
  expect(shown['kept_answer_bytes']?.used).toBeGreaterThanOrEqual(4096)
  expect(shown['kept_output_bytes']).toMatchObject({ limit: 5 * 2 ** 30 })
  expect(shown['kept_events']?.used).toBeGreaterThan(0)
  expect((await quotas(eve))['kept_answer_bytes']).toEqual({ limit: 4096, used: null })
})
