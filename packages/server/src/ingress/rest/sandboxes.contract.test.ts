/** Sandboxes and labels over REST, and what becomes of the sessions of a tenant that ends. */
import { SandboxView, SessionRecord } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Answer, Laboratory } from './contract/laboratory.ts'

let laboratory: Laboratory
const keys = { ada: '', ben: '', viewer: '' }
beforeAll(async () => {
  laboratory = await openLaboratory()
  keys.ada = await laboratory.keyOf({ subject: 'ada' })
  keys.ben = await laboratory.keyOf({ subject: 'ben' })
  keys.viewer = await laboratory.keyOf({ subject: 'vera', role: 'viewer' })
})
afterAll(() => laboratory.close())

const create = async (body: object, key: string) =>
  SessionRecord.parse((await laboratory.post('/v1/sessions', { wait_ms: 20_000, ...body }, { key })).body)
const sessionIds = ({ body }: Answer) =>
  SessionRecord.array()
    .parse(body['items'])
    .map(({ id }) => id)
const sandboxes = async (key: string) => SandboxView.array().parse((await laboratory.send('/v1/sandboxes', { key })).body['items'])

describe('sandboxes', () => {
  test('are shown to who has a session in them, and to who sees the tenant', async () => {
    const session = await create({ key: 'boxed' }, keys.ada)
    const [own] = await sandboxes(keys.ada)
    expect(own).toEqual({
      ...{ id: session.sandbox_id, state: 'ready', sessions: [session.id], session_count: 1, max_sessions: 1 },
      ...{ backend: expect.any(String), server_id: expect.stringMatching(/^srv_/), created_at: expect.any(String) },
    })
    expect(await sandboxes(keys.ben)).toEqual([])
    expect(await sandboxes(keys.viewer)).toEqual([own])
    expect((await laboratory.send(`/v1/sandboxes/${own?.id}`, { key: keys.ada })).body).toEqual(own)
  })

  test('of others are as missing as those that never were', async () => {
    const session = await create({ key: 'boxed' }, keys.ada)
    const hidden = await laboratory.send(`/v1/sandboxes/${session.sandbox_id}`, { key: keys.ben })
    const missing = await laboratory.send('/v1/sandboxes/sbx_0000000000000000', { key: keys.ben })
    expect(hidden.status).toBe(404)
    expect({ ...hidden.body, request_id: '' }).toEqual({ ...missing.body, request_id: '' })
    expect(Object.keys(hidden.headers)).toEqual(Object.keys(missing.headers))
  })

  test('come in pages', async () => {
    for (const key of ['b1', 'b2', 'b3']) await create({ key }, keys.ben)
    const paged: unknown[] = []
    for (let token = ''; token !== 'null';) {
      const page = await laboratory.send(`/v1/sandboxes?page_size=2${token === '' ? '' : `&page_token=${token}`}`, { key: keys.ben })
      paged.push(...(page.body['items'] as unknown[]))
      token = page.field('next_page_token')
    }
    expect(paged).toEqual(await sandboxes(keys.ben))
    expect(paged).toHaveLength(3)
  })
})

describe('labels', () => {
  test('choose sessions: one, or all of several, with the other filters, page by page', async () => {
    const red = await create({ key: 'red', labels: { team: 'a', colour: 'red' } }, keys.ada)
    const blue = await create({ key: 'blue', labels: { team: 'a', colour: 'blue=green' } }, keys.ada)
    await create({ key: 'plain' }, keys.ada)
    const list = async (query: string, key = keys.ada) => sessionIds(await laboratory.send(`/v1/sessions?${query}`, { key }))
    expect(await list('label=team=a')).toEqual([blue.id, red.id])
    expect(await list('label=team%3Da&label=colour%3Dred')).toEqual([red.id])
    expect(await list('label=colour=blue%3Dgreen&state=idle,active')).toEqual([blue.id])
    expect(await list('label=team=a&key=red')).toEqual([red.id])
    expect(await list('label=team=b')).toEqual([])
    expect(await list('label=team=a', keys.ben)).toEqual([])
    const first = await laboratory.send('/v1/sessions?label=team=a&page_size=1', { key: keys.ada })
    const next = `page_size=1&page_token=${first.field('next_page_token')}`
    expect(await list(`label=team=a&${next}`)).toEqual([red.id])
    expect(await laboratory.send(`/v1/sessions?label=team=b&${next}`, { key: keys.ada })).toMatchObject({ status: 400 })
  })

  test('follow a change', async () => {
    const { id } = await create({ key: 'changing', labels: { phase: 'one' } }, keys.ada)
    await laboratory.send(`/v1/sessions/${id}`, { method: 'PATCH', body: { labels: { phase: 'two' } }, key: keys.ada })
    expect((await laboratory.send('/v1/sessions?label=phase=one', { key: keys.ada })).body['items']).toEqual([])
    expect(sessionIds(await laboratory.send('/v1/sessions?label=phase=two', { key: keys.ada }))).toEqual([id])
  })

  test.each([
    ['label=team', /label\.0: must be a label such as team=a/],
    ['label==a', /label\.0: must be a label such as team=a/],
    [`label=team=${'x'.repeat(64)}`, /label\.0: must be a label such as team=a/],
    ['label=team=a%00', /label\.0: must be a label such as team=a/],
    [Array.from({ length: 9 }, (_, index) => `label=a=${index}`).join('&'), /label: must be given at most 8 times/],
    ['key=a&key=b', /key: is given more than once/],
  ])('%s is refused by name', async (query, sentence) => {
    expect(await laboratory.send(`/v1/sessions?${query}`)).toMatchObject({ status: 400, body: { title: expect.stringMatching(sentence) } })
  })
})

test('a tenant that is terminated loses its sessions, running, idle and suspended; others keep theirs', async () => {
  const { plane, admin, post, keyOf } = laboratory
  const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
  const tenant = await plane.tenants.create(admin, { name: 'leaving', policy, quotas: {} })
  const key = await keyOf({ subject: 'ada' }, tenant.id)
  const [idle, busy, asleep] = [
    await create({ key: 'idle' }, key),
    await create({ key: 'busy' }, key),
    await create({ key: 'asleep' }, key),
  ]
  await post(`/v1/sessions/${busy.id}/executions`, { command: 'sleep 1000', cwd: '/' }, { key })
  await post(`/v1/sessions/${asleep.id}/suspend`, {}, { key })
  const other = await create({ key: 'staying' }, keys.ada)
  await post(`/v1/tenants/${tenant.id}/terminate`, {})
  await plane.sessions.sweep()
  for (const { id } of [idle, busy, asleep]) {
    await eventually(async () => (await laboratory.send(`/v1/sessions/${id}`, { key })).body).toMatchObject({
      ...{ state: 'cancelled', close_reason: 'cancel', close_detail: 'tenant_terminated', cleanup: { verified: true } },
    })
  }
  expect((await laboratory.send(`/v1/sessions/${other.id}`, { key: keys.ada })).body).toMatchObject({ state: 'idle' })
  expect(await laboratory.post('/v1/sessions', { key: 'new' }, { key })).toMatchObject({ status: 403 })
})
