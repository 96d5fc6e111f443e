/** Administration over REST: tenants, keys, webhooks, audit, quotas, and what a server offers. */
import { AuditRecordView, CreatedKeyView } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'

let laboratory: Laboratory
beforeAll(async () => {
  laboratory = await openLaboratory({ HOLDFAST_QUOTAS_SESSIONS_PER_OWNER: '1' })
})
afterAll(() => laboratory.close())

describe('tenants', () => {
  test('are made once per name, changed on their version, and terminated for good', async () => {
    const made = await laboratory.post('/v1/tenants', { name: 'acme' })
    expect(made).toMatchObject({ status: 201, body: { name: 'acme', state: 'active', version: 1 }, headers: { etag: '"1"' } })
    const path = `/v1/tenants/${made.field('id')}`
    expect(await laboratory.post('/v1/tenants', { name: 'acme' })).toMatchObject({ status: 409, body: { code: 'name_taken' } })
    const put = (part: string, body: unknown, headers = {}) => laboratory.send(`${path}/${part}`, { method: 'PUT', body, headers })
    expect(await put('quotas', { open_sessions: 3 })).toMatchObject({ status: 428 })
    expect(await put('quotas', { open_sessions: 3 }, { 'if-match': '"1"' })).toMatchObject({ status: 200, body: { version: 2 } })
    expect(await put('policy', { admin_exec: true }, { 'if-match': '"1"' })).toMatchObject({
      status: 409,
      body: { details: { version: 2 } },
    })
    expect(await put('policy', { admin_exec: true }, { 'if-match': '"2"' })).toMatchObject({ body: { policy: { admin_exec: true } } })
    expect(await laboratory.post(`${path}/terminate`, undefined)).toMatchObject({ body: { state: 'terminating' } })
    expect(await laboratory.send(path)).toMatchObject({ body: { state: expect.stringMatching(/^terminat/), quotas: { open_sessions: 3 } } })
  })

  test('are listed in pages in the order of their names', async () => {
    const first = await laboratory.send('/v1/tenants?page_size=1')
    const second = await laboratory.send(`/v1/tenants?page_size=1&page_token=${first.field('next_page_token')}`)
    expect([first, second].map(({ body }) => (body['items'] as { name: string }[])[0]?.name)).toEqual(['acme', 'default'])
    expect(second.body['next_page_token']).toBeNull()
  })

  test('a name stands for the id in every path and in X-Holdfast-Tenant', async () => {
    const { body } = await laboratory.post('/v1/tenants', { name: 'by-name' })
    expect(await laboratory.send('/v1/tenants/by-name')).toMatchObject({ status: 200, body: { id: body['id'] } })
    const headers = { 'if-match': '"1"' }
    const quotas = { method: 'PUT', body: { profiles: 3 }, headers }
    expect(await laboratory.send('/v1/tenants/by-name/quotas', quotas)).toMatchObject({ status: 200, body: { quotas: { profiles: 3 } } })
    const key = await laboratory.post('/v1/keys', { name: 'k', subject: 'kim' }, { headers: { 'x-holdfast-tenant': 'by-name' } })
    const own = { key: key.field('key') }
    expect(await laboratory.send('/v1/tenants/by-name', own)).toMatchObject({ status: 200, body: { id: body['id'] } })
    expect(await laboratory.send('/v1/sessions', { ...own, headers: { 'x-holdfast-tenant': 'by-name' } })).toMatchObject({ status: 200 })
    expect(await laboratory.send('/v1/tenants/default', own)).toMatchObject({ status: 404 })
    const others = [{ 'x-holdfast-tenant': 'default' }, { 'x-holdfast-tenant': 'nowhere' }]
    for (const other of others) expect(await laboratory.send('/v1/sessions', { ...own, headers: other })).toMatchObject({ status: 403 })
    expect(await laboratory.send('/v1/sessions', { headers: { 'x-holdfast-tenant': 'nowhere' } })).toMatchObject({ status: 404 })
    expect(await laboratory.post('/v1/tenants/default/terminate', undefined)).toMatchObject({ status: 403 })
  })

  test('are terminated once their last session has ended, and that is in their audit', async () => {
    await laboratory.post('/v1/tenants', { name: 'leaving' })
    const headers = { 'x-holdfast-tenant': 'leaving' }
    const made = await laboratory.post('/v1/sessions', { key: 'last', wait_ms: 10_000 }, { headers })
    expect(await laboratory.post('/v1/tenants/leaving/terminate', undefined)).toMatchObject({ body: { state: 'terminating' } })
    const state = async () => (await laboratory.send('/v1/tenants/leaving')).field('state')
    while ((await state()) !== 'terminated') await laboratory.plane.sessions.sweep()
    expect(await laboratory.send(`/v1/sessions/${made.field('id')}`, { headers })).toMatchObject({ body: { state: 'cancelled' } })
    expect((await laboratory.send('/v1/audit?page_size=200', { headers })).text).toContain('tenant.terminated')
    expect(await laboratory.post('/v1/sessions', { key: 'new' }, { headers })).toMatchObject({ status: 403 })
    expect(await laboratory.post('/v1/tenants/leaving/terminate', undefined)).toMatchObject({ status: 200, body: { state: 'terminated' } })
  })

  test('a platform administrator works in the tenant that it names', async () => {
    const tenant = (await laboratory.post('/v1/tenants', { name: 'named' })).field('id')
    const headers = { 'x-holdfast-tenant': tenant }
    const made = await laboratory.post('/v1/sessions', { key: 'there' }, { headers })
    expect(made.status).toBe(201)
    expect(await laboratory.send(`/v1/sessions/${made.field('id')}`)).toMatchObject({ status: 404 })
    expect(await laboratory.send(`/v1/sessions/${made.field('id')}`, { headers })).toMatchObject({ status: 200 })
  })
})

test('a key is shown once, works, is listed without its secret, and is dead when it is revoked', async () => {
  const made = CreatedKeyView.parse((await laboratory.post('/v1/keys', { name: 'laptop', subject: 'kim' })).body)
  expect(await laboratory.send('/v1/sessions', { key: made.key })).toMatchObject({ status: 200 })
  const listed = await laboratory.send('/v1/keys')
  expect(listed.text).toContain(made.id)
  expect(listed.text).not.toContain(made.key)
  expect(await laboratory.send(`/v1/keys/${made.id}`, { method: 'DELETE' })).toMatchObject({ status: 200, body: { id: made.id } })
  expect(await laboratory.send('/v1/sessions', { key: made.key })).toMatchObject({ status: 401 })
})

test('a webhook shows its secret once, pauses, resumes and goes', async () => {
  const made = await laboratory.post('/v1/webhooks', { url: 'https://example.com/x?token=t0ken', types: ['session.created'] })
  expect(made).toMatchObject({
    status: 201,
    body: { url: 'https://example.com', secret: expect.stringMatching(/^whsec_/), types: ['session.created'] },
  })
  const path = `/v1/webhooks/${made.field('id')}`
  expect(await laboratory.post(`${path}/pause`, undefined)).toMatchObject({ body: { state: 'paused' } })
  expect(await laboratory.post(`${path}/resume`, undefined)).toMatchObject({ body: { state: 'active' } })
  const listed = await laboratory.send('/v1/webhooks')
  expect(listed.text).not.toMatch(/whsec_|t0ken/)
  expect(await laboratory.send(path, { method: 'DELETE' })).toMatchObject({ status: 204, text: '' })
  expect(await laboratory.send(path, { method: 'DELETE' })).toMatchObject({ status: 404 })
  for (const url of ['http://127.0.0.1/', 'http://localhost:3000/'])
    expect(await laboratory.post('/v1/webhooks', { url })).toMatchObject({
      status: 400,
      body: { details: { problems: [{ field: 'url' }] } },
    })
  expect(await laboratory.post('/v1/webhooks', { url: 'https://example.com/', types: ['nothing'] })).toMatchObject({ status: 400 })
})

describe('the audit', () => {
  test('is read newest first, in pages that leave nothing out, and by session', async () => {
    const session = (await laboratory.post('/v1/sessions', { key: 'audited', wait_ms: 9000 })).field('id')
    const all = AuditRecordView.array().parse((await laboratory.send('/v1/audit?page_size=200')).body['items'])
    const paged: unknown[] = []
    for (let token = ''; token !== 'null';) {
      const page = await laboratory.send(`/v1/audit?page_size=7${token === '' ? '' : `&page_token=${token}`}`)
      paged.push(...(page.body['items'] as unknown[]))
      token = page.field('next_page_token')
    }
    expect(paged).toEqual(all)
    const own = AuditRecordView.array().parse((await laboratory.send(`/v1/audit?session=${session}`)).body['items'])
    expect(own.at(-1)).toMatchObject({ action: 'session.create', chain: session, seq: 1, actor: { subject: 'admin' }, decision: 'allow' })
    expect(own.every(({ session_id: id }) => id === session)).toBe(true)
  })

  test('a member reads what concerns its own sessions only', async () => {
    const key = await laboratory.keyOf({ subject: 'mia' })
    const session = (await laboratory.post('/v1/sessions', { key: 'mine' }, { key })).field('id')
    const items = AuditRecordView.array().parse((await laboratory.send('/v1/audit?page_size=200', { key })).body['items'])
    expect(items.length).toBeGreaterThan(0)
    expect(items.every(({ session_id: id }) => id === session)).toBe(true)
  })

  test('is checked, and a changed record is found', async () => {
    const whole = await laboratory.post('/v1/audit/verify', {})
    expect(whole).toMatchObject({ status: 200, body: { problems: 0, items: [] } })
    expect(Number(whole.body['records'])).toBeGreaterThan(5)
    const known = [{ chain: 'tnt_default', seq: 1, hash: '0'.repeat(64) }]
    expect(await laboratory.post('/v1/audit/verify', { known })).toMatchObject({
      body: { problems: 1, items: [{ kind: 'changed', chain: 'tnt_default' }] },
    })
    await laboratory.store.write((transaction) => transaction.run(`UPDATE audit SET at = at + 1 WHERE chain = 'tnt_default' AND seq = 2`))
    const broken = await laboratory.post('/v1/audit/verify', {})
    expect(broken.body['items']).toContainEqual(expect.objectContaining({ kind: 'changed', chain: 'tnt_default', seq: 2 }))
  })
})

test('quotas show what there is to whom it concerns, and a refusal names the quota', async () => {
  const key = await laboratory.keyOf({ subject: 'quinn' })
  await laboratory.post('/v1/sessions', { key: 'only' }, { key })
  const own = await laboratory.send('/v1/quotas', { key })
  expect(own.body).toEqual({
    owner: 'quinn',
    items: [
      { quota: 'open_sessions', limit: null, used: null },
      { quota: 'open_sessions_per_owner', limit: 1, used: 1 },
      { quota: 'compute_sessions', limit: null, used: null },
      { quota: 'compute_sessions_per_owner', limit: null, used: 1 },
      // Of the whole tenant, so only its administrators see how much of it is used.
      { quota: 'profiles', limit: 100, used: null },
      { quota: 'pipelines', limit: 100, used: null },
      { quota: 'kept_output_bytes', limit: 5_368_709_120, used: null },
      { quota: 'kept_events', limit: 5_000_000, used: null },
      { quota: 'kept_answer_bytes', limit: 268_435_456, used: null },
    ],
  })
  expect(await laboratory.send('/v1/quotas?owner=admin', { key })).toMatchObject({ status: 403 })
  const seen = (await laboratory.send('/v1/quotas?owner=quinn')).body
  expect(seen).toMatchObject({ owner: 'quinn', items: expect.arrayContaining([{ quota: 'open_sessions_per_owner', limit: 1, used: 1 }]) })
  const refused = await laboratory.post('/v1/sessions', { key: 'more' }, { key })
  expect(refused).toMatchObject({
    status: 429,
    headers: { 'retry-after': '1' },
    body: { details: { quota: 'open_sessions_per_owner', limit: 1 } },
  })
})

describe('what a server offers', () => {
  test('scopes in the language of the reader', async () => {
    const japanese = await laboratory.send('/v1/scopes', { headers: { 'accept-language': 'ja,en;q=0.5' } })
    expect(japanese).toMatchObject({ headers: { 'content-language': 'ja-JP' }, body: { language: 'ja-JP', default: 'chat', forced: null } })
    const spanish = await laboratory.send('/v1/scopes?lang=es-ES', { headers: { 'accept-language': 'ja' } })
    expect(spanish.body['language']).toBe('es-ES')
    const asLangBot = await laboratory.send('/v1/scopes?lang=en_US', { headers: { 'accept-language': 'ja' } })
    expect(asLangBot).toMatchObject({ status: 200, body: { language: 'en-US' } })
    expect(spanish.body['items']).not.toEqual(japanese.body['items'])
    expect(await laboratory.send('/v1/scopes?lang=xx')).toMatchObject({
      status: 400,
      body: { title: expect.stringMatching(/lang: must be one of en-US/) },
    })
  })

  test('backends with what each can do, and every error code', async () => {
    expect(await laboratory.send('/v1/backends')).toMatchObject({
      body: { items: [{ kind: 'bubblewrap', chosen: true, available: true }] },
    })
    const { body } = await laboratory.send('/v1/errors', { key: null })
    expect(body['items']).toContainEqual(expect.objectContaining({ code: 'session_closed', status: 409, retry: 'never' }))
  })

  test('health, readiness and its own document need no key', async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json'])
      expect(await laboratory.send(path, { key: null })).toMatchObject({ status: 200 })
  })

  test('another method is 405 with those there are, an unknown address 404, and both are nobody’s business without a key', async () => {
    const wrong = await laboratory.send('/v1/sessions', { method: 'DELETE' })
    expect(wrong).toMatchObject({ status: 405, headers: { allow: 'POST, GET' }, body: { code: 'method_not_allowed' } })
    expect(await laboratory.send('/v1/nothing')).toMatchObject({ status: 404 })
    for (const path of ['/v1/sessions', '/v1/nothing'])
      expect(await laboratory.send(path, { method: 'DELETE', key: null })).toMatchObject({ status: 401 })
    expect(await laboratory.send('/v1/sessions', { method: 'OPTIONS', headers: { origin: 'https://evil.example' } })).toMatchObject({
      status: 403,
    })
  })
})

describe('requests that are sent again', () => {
  const headers = { 'idempotency-key': 'a-1' }

  test('a key is made once, and its secret is answered again', async () => {
    const body = { name: 'again', subject: 'ada' }
    const first = await laboratory.post('/v1/keys', body, { headers })
    const second = await laboratory.post('/v1/keys', body, { headers })
    expect(second).toMatchObject({ status: 201, text: first.text, headers: { 'idempotency-replayed': 'true' } })
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id'])
    const keys = (await laboratory.send('/v1/keys?page_size=200')).body['items'] as { name: string }[]
    expect(keys.filter(({ name }) => name === 'again')).toHaveLength(1)
    expect(await laboratory.post('/v1/keys', { ...body, role: 'viewer' }, { headers })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    })
  })

  test('a command runs once, however often it is sent', async () => {
    const body = { session: 'audited', command: 'echo $$', cwd: '/' }
    const send = () => laboratory.post('/v1/exec', body, { headers: { 'idempotency-key': 'run-once' } })
    const first = await send()
    expect(first).toMatchObject({ status: 200, body: { exit_code: 0 } })
    expect((await send()).text).toBe(first.text)
    const streamed = { 'idempotency-key': 'x', accept: 'text/event-stream' }
    expect(await laboratory.post('/v1/exec', body, { headers: streamed })).toMatchObject({ status: 400 })
  })

  test('another body on the same session, or another session, is another request', async () => {
    const session = (await laboratory.post('/v1/sessions', { key: 'audited' })).field('id')
    const again = { headers: { 'idempotency-key': 'same' } }
    expect(await laboratory.post(`/v1/sessions/${session}/refresh`, {}, again)).toMatchObject({ status: 200 })
    expect(await laboratory.post(`/v1/sessions/${session}/refresh`, { lease_seconds: 60 }, again)).toMatchObject({ status: 422 })
    expect(await laboratory.post('/v1/sessions/ses_0000000000000000/refresh', {}, again)).toMatchObject({ status: 422 })
    expect(await laboratory.post(`/v1/sessions/${session}/hold`, {}, again)).toMatchObject({ status: 200 })
    expect(await laboratory.post(`/v1/sessions/${session}/unhold`, {}, again)).toMatchObject({ status: 200 })
  })

  test('somebody else’s key of the same name is a key of its own', async () => {
    const sending = { headers: { 'idempotency-key': 'shared-name' } }
    const [one, other] = [await laboratory.keyOf({ subject: 'uma' }), await laboratory.keyOf({ subject: 'una' })]
    const first = await laboratory.post('/v1/sessions', { key: 'x' }, { ...sending, key: one })
    const second = await laboratory.post('/v1/sessions', { key: 'x' }, { ...sending, key: other })
    expect([first.body['owner'], second.body['owner']]).toEqual(['uma', 'una'])
  })

  test('bad input is refused before its key is taken', async () => {
    const once = { headers: { 'idempotency-key': 'mistyped' } }
    expect(await laboratory.post('/v1/keys', { nam: 'x' }, once)).toMatchObject({ status: 400 })
    expect(await laboratory.post('/v1/keys', { name: 'x', subject: 'x' }, once)).toMatchObject({ status: 201 })
  })
})
