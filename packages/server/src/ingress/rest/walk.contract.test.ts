/** Every route of the table, walked as nobody, a stranger, another tenant, another owner and a viewer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reachOf, ADMIN_VERBS } from '../../access/roles.ts'
import type { Verb } from '../../access/roles.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Answer, Laboratory } from './contract/laboratory.ts'
import { sampleOf } from './contract/samples.ts'
import type { Route } from './route.ts'

const MISSING = { id: 'ses_0000000000000000', execution: 'exe_0000000000000000', name: 'no_such_name' }

let laboratory: Laboratory
let routes: readonly Route[]
const keys = { ada: '', ben: '', viewer: '', eve: '', foreignAdmin: '' }
const there = { id: '', execution: '', name: 'walked_name' }

beforeAll(async () => {
  laboratory = await openLaboratory()
  routes = laboratory.routes
  const { plane, admin, keyOf, post } = laboratory
  const other = await plane.tenants.create(admin, {
    name: 'other',
    policy: { admin_exec: false, packing: { profiles: [] }, ceilings: {} },
    quotas: {},
  })
  keys.ada = await keyOf({ subject: 'ada' })
  keys.ben = await keyOf({ subject: 'ben' })
  keys.viewer = await keyOf({ subject: 'vera', role: 'viewer' })
  keys.eve = await keyOf({ subject: 'eve' }, other.id)
  keys.foreignAdmin = await keyOf({ subject: 'root', role: 'tenant_admin' }, other.id)
  const ran = await post('/v1/exec', { session: 'secret-key-of-ada', command: 'echo hello', cwd: '/' }, { key: keys.ada })
  there.id = (ran.body['session'] as { id: string }).id
  there.execution = String(ran.body['execution_id'])
  await post(`/v1/sessions/${there.id}/processes`, { name: there.name, command: 'true', cwd: '/' }, { key: keys.ada })
  await laboratory.send(`/v1/sessions/${there.id}/credentials/${there.name}`, { method: 'PUT', body: { value: 'x' }, key: keys.ada })
})
afterAll(() => laboratory.close())

/** What an outsider can compare: everything but the request's own id, and what it asked for itself. */
function told({ status, headers, text }: Answer, ids: Readonly<Record<string, string>>): unknown {
  const { 'x-request-id': requestId = '', ...rest } = headers
  const anonymous = Object.values(ids).reduce((all, id) => all.replaceAll(id, '<id>'), text.replaceAll(requestId, '<request>'))
  return { status, headers: rest, text: anonymous }
}

const walk = (route: Route, key: string | null, ids: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) => {
  const { path, sending } = sampleOf(route, ids)
  return laboratory.send(path, { ...sending, key, headers: { ...sending.headers, ...headers } })
}
const behindKey = () => routes.filter(({ authorization }) => authorization !== 'public')
const ofSessions = () => routes.filter(({ path }) => path.startsWith('/v1/sessions/{id}') || path === '/v1/exec')

test('nobody gets in, with no key or a wrong one, and learns nothing of what is there', async () => {
  for (const route of behindKey()) {
    const without = await walk(route, null, there)
    expect(without.status, `${route.method} ${route.path}`).toBe(401)
    expect(told(await walk(route, null, MISSING), MISSING)).toEqual(told(without, there))
    const wrong = await walk(route, 'hf_0000000000000000000000000000000000000000000', there)
    expect(wrong.status).toBe(401)
    expect(told(await walk(route, 'hf_0000000000000000000000000000000000000000000', MISSING), MISSING)).toEqual(told(wrong, there))
  }
})

describe.each(['ben', 'eve', 'foreignAdmin'] as const)('to %s', (who) => {
  test('what belongs to ada and what does not exist are the same in every route: status, body and headers', async () => {
    expect(ofSessions().length).toBeGreaterThan(15)
    for (const route of ofSessions()) {
      const hidden = told(await walk(route, keys[who], there), there)
      const missing = told(await walk(route, keys[who], MISSING), MISSING)
      expect(hidden, `${route.method} ${route.path}`).toEqual(missing)
      expect(hidden).toMatchObject({ status: 404 })
    }
  })

  test('no list, filter or feed shows anything of ada’s', async () => {
    for (const filter of ['key=secret-key-of-ada', 'owner=ada'])
      expect((await laboratory.send(`/v1/sessions?${filter}`, { key: keys[who] })).body['items']).toEqual([])
    expect((await laboratory.send(`/v1/audit?session=${there.id}`, { key: keys[who] })).body['items']).toEqual([])
    for (const path of ['/v1/sessions', '/v1/sessions?state=idle,active', '/v1/events', '/v1/audit', '/v1/quotas']) {
      const { status, text } = await laboratory.send(path, { key: keys[who] })
      expect(status).toBe(200)
      expect(text).not.toContain(there.id)
      expect(text).not.toContain('secret-key-of-ada')
    }
  })

  test('a stream of what belongs to ada is refused like one of what does not exist', async () => {
    const streams = ofSessions().filter(({ answers }) => Object.values(answers).some(({ events }) => events !== null))
    expect(streams.length).toBe(4)
    for (const route of streams) {
      const headers = { accept: 'text/event-stream' }
      const hidden = told(await walk(route, keys[who], there, headers), there)
      expect(hidden).toMatchObject({ status: 404 })
      expect(hidden).toEqual(told(await walk(route, keys[who], MISSING, headers), MISSING))
    }
    const cursor = `evt_${there.id.slice(4)}_1`
    const headers = { accept: 'text/event-stream', 'last-event-id': cursor }
    const hidden = await laboratory.send('/v1/events', { key: keys[who], headers })
    expect(hidden).toMatchObject({ status: 410, body: { code: 'cursor_expired', details: {} } })
    const madeUp = { ...headers, 'last-event-id': 'evt_0000000000000000_1' }
    const missing = await laboratory.send('/v1/events', { key: keys[who], headers: madeUp })
    expect(told(missing, { id: 'evt_0000000000000000_1' })).toEqual(told(hidden, { id: cursor }))
  })

  test('an execution of a session of one’s own is not found under the id of another’s', async () => {
    const own = await laboratory.post('/v1/exec', { session: 'own', command: 'true', cwd: '/' }, { key: keys[who] })
    const session = own.body['session'] as { id: string }
    const answer = await laboratory.send(`/v1/sessions/${session.id}/executions/${there.execution}`, { key: keys[who] })
    expect(answer).toMatchObject({ status: 404, body: { title: 'there is no such execution in this session' } })
    const missing = await laboratory.send(`/v1/sessions/${session.id}/executions/${MISSING.execution}`, { key: keys[who] })
    expect(told(answer, there)).toEqual(told(missing, MISSING))
  })
})

test('a viewer sees every session and is refused exactly what the table of roles refuses', async () => {
  for (const route of ofSessions()) {
    const verb = route.authorization as Verb
    const mayDo = reachOf('viewer', verb, { admin_exec: false }) === 'tenant'
    const { status } = await walk(route, keys.viewer, there)
    expect(status, `${route.method} ${route.path}`).toBe(mayDo ? 200 : 403)
    expect((await walk(route, keys.viewer, MISSING)).status).toBe(404)
  }
  expect((await laboratory.post('/v1/sessions', { key: 'x' }, { key: keys.viewer })).status).toBe(403)
})

test('administration refuses whoever lacks the right, whatever it is about', async () => {
  for (const route of routes) {
    const verb = ADMIN_VERBS.find((admin) => admin === route.authorization)
    if (verb === undefined) continue
    for (const [who, role] of [
      ['ben', 'member'],
      ['viewer', 'viewer'],
      ['foreignAdmin', 'tenant_admin'],
    ] as const) {
      if (reachOf(role, verb, { admin_exec: false }) !== 'never') continue
      const real = { id: 'tnt_default', name: 'sample' }
      const answer = await walk(route, keys[who], real)
      expect(answer.status, `${who}: ${route.method} ${route.path}`).toBe(403)
      expect(told(answer, real)).toEqual(told(await walk(route, keys[who], MISSING), MISSING))
    }
  }
})

test('an administrator of another tenant finds neither keys nor webhooks of this one', async () => {
  const { body } = await laboratory.send('/v1/keys')
  const [first] = body['items'] as { id: string }[]
  const hook = await laboratory.post('/v1/webhooks', { url: 'https://example.com/hook' })
  for (const route of routes.filter(({ path }) => /^\/v1\/(keys|webhooks)\/\{id\}/.test(path))) {
    const ids = { id: route.path.includes('keys') ? String(first?.id) : String(hook.body['id']) }
    const answer = await walk(route, keys.foreignAdmin, ids)
    expect(answer.status, route.path).toBe(404)
    expect(told(answer, ids)).toEqual(told(await walk(route, keys.foreignAdmin, MISSING), MISSING))
  }
})

test('the tenant of another is as missing as one that never was', async () => {
  for (const key of [keys.ben, keys.foreignAdmin]) {
    const ids = {
      id: key === keys.ben ? String((await laboratory.send('/v1/tenants')).text.match(/tnt_[0-9a-z]{16}/)?.[0]) : 'tnt_default',
    }
    const answer = await laboratory.send(`/v1/tenants/${ids.id}`, { key })
    expect(answer.status).toBe(404)
    expect(told(answer, ids)).toEqual(told(await laboratory.send(`/v1/tenants/${MISSING.id}`, { key }), MISSING))
  }
})

test('every public route is one that tells nothing of anybody', () => {
  const open = routes.filter(({ authorization }) => authorization === 'public').map(({ method, path }) => `${method} ${path}`)
  expect(open).toEqual(['GET /v1/errors', 'GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs'])
})
