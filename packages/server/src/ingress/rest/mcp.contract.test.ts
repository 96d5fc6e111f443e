/** MCP servers over REST: who may do what, what is shown and what never is, calls, and what runs for everybody. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { smallServer } from '../../mcp/run/contract/small-server.ts'
import { findMcpServer } from '../../store/tables/mcp-servers.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Answer, Laboratory, Sending } from './contract/laboratory.ts'

let laboratory: Laboratory
const keys = { admin: '', member: '', viewer: '', foreign: '', foreignMember: '' }

beforeAll(async () => {
  laboratory = await openLaboratory()
  const { plane, admin, keyOf } = laboratory
  const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
  const other = await plane.tenants.create(admin, { name: 'other', policy, quotas: {} })
  keys.admin = await keyOf({ subject: 'root', role: 'tenant_admin' })
  keys.member = await keyOf({ subject: 'ada' })
  keys.viewer = await keyOf({ subject: 'vera', role: 'viewer' })
  keys.foreign = await keyOf({ subject: 'eve', role: 'tenant_admin' }, other.id)
  keys.foreignMember = await keyOf({ subject: 'mal' }, other.id)
})
afterAll(() => laboratory.close())

/** Guests without a sandbox have no workspace to start in. */
const config = (differs: Parameters<typeof smallServer>[0] = {}) => smallServer({ cwd: '/', ...differs, box: {} })
const put = (name: string, body: unknown, key = keys.admin, more: Sending = {}) =>
  laboratory.send(`/v1/mcp/servers/${name}`, { method: 'PUT', body, key, ...more })
const get = (path: string, key = keys.member) => laboratory.send(`/v1/mcp/servers${path}`, { key })
const call = (name: string, tool: string, body: object, key = keys.member) =>
  laboratory.post(`/v1/mcp/servers/${name}/tools/${tool}`, body, { key })
const textOf = ({ body }: Answer) => (body['content'] as { readonly text: string }[])[0]?.text

test('is put by who administers the tenant, read by its members, and its secrets are shown to nobody and stored sealed', async () => {
  const secret = 'hunter2-hunter2'
  const made = await put('notes', config({ env: { TOKEN: secret } }))
  expect(made).toMatchObject({ status: 201, headers: { etag: '"1"' }, body: { name: 'notes', scope: 'session', runs: [] } })
  expect(await put('notes', config({ env: { TOKEN: secret } }))).toMatchObject({ status: 200, headers: { etag: '"2"' } })
  for (const who of ['member', 'viewer'] as const) expect(await put('notes', config(), keys[who])).toMatchObject({ status: 403 })
  const read = await get('/notes')
  expect(read.body).toMatchObject({ config: { env_keys: ['TOKEN'] } })
  expect((await get('')).body['items']).toHaveLength(1)
  for (const { text } of [made, read, await get('')]) expect(text).not.toContain(secret)
  const row = await laboratory.store.read((sql) => findMcpServer(sql, 'tnt_default', 'notes'))
  expect(Buffer.from(row?.config ?? []).includes(secret)).toBe(false)
  const audit = await laboratory.send('/v1/audit', { key: keys.admin })
  expect(audit.text).toContain('mcp-server.update')
  expect(audit.text).not.toContain(secret)
})

test('a change can be bound to the version that was read', async () => {
  await put('versioned', config())
  expect(await put('versioned', config(), keys.admin, { headers: { 'if-match': '"7"' } })).toMatchObject({
    ...{ status: 409, body: { code: 'version_conflict' } },
  })
  expect(await put('versioned', config(), keys.admin, { headers: { 'if-match': '"1"' } })).toMatchObject({ status: 200 })
  const remove = (version: string) =>
    laboratory.send('/v1/mcp/servers/versioned', { method: 'DELETE', key: keys.admin, headers: { 'if-match': version } })
  expect(await remove('"1"')).toMatchObject({ status: 409 })
  expect(await remove('"2"')).toMatchObject({ status: 204 })
  expect(await get('/versioned')).toMatchObject({ status: 404 })
})

test('a whole file is taken as Claude and VS Code write it, all of it or nothing', async () => {
  const whole = { mcpServers: { one: { command: 'true', alwaysAllow: [] }, two: { command: 'true', disabled: true } } }
  const done = await laboratory.post('/v1/mcp/servers', whole, { key: keys.admin })
  expect((done.body['items'] as { name: string }[]).map(({ name }) => name)).toEqual(['one', 'two'])
  const broken = { servers: { three: { command: 'true' }, four: { url: 'https://a.test/mcp' } } }
  expect(await laboratory.post('/v1/mcp/servers', broken, { key: keys.admin })).toMatchObject({ status: 400 })
  expect(await get('/three')).toMatchObject({ status: 404 })
})

test('another tenant’s is not there', async () => {
  await put('hidden', config())
  expect((await get('/hidden', keys.foreign)).status).toBe(404)
  expect((await call('hidden', 'pid', { session: 'a' }, keys.foreign)).status).toBe(404)
  expect((await get('', keys.foreign)).text).not.toContain('hidden')
})

test('a tool is called in the box of the conversation; what the rules leave out is neither listed nor called', async () => {
  await put('ruled', config({ tools: { deny: ['die'] } }))
  const started = await laboratory.post('/v1/mcp/servers/ruled/start', { session: 'talk' }, { key: keys.member })
  expect((started.body['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(['pid', 'count', 'env', 'where'])
  const pid = textOf(await call('ruled', 'pid', { session: 'talk' }))
  expect(started.body['run']).toMatchObject({ state: 'ready', scope_key: 'talk', pid: Number(pid) })
  expect(await call('ruled', 'die', { session: 'talk' })).toMatchObject({ status: 403, body: { code: 'mcp_tool_denied' } })
  const unknown = await call('ruled', 'nothing', { session: 'talk' })
  expect(unknown).toMatchObject({ status: 422, body: { code: 'mcp_call_refused', details: { phase: 'tool_call' } } })
  expect(await call('ruled', 'pid', {})).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  expect(await call('ruled', 'pid', { session: 'talk' }, keys.viewer)).toMatchObject({ status: 403 })
  const { body } = await get('/ruled')
  expect(body['runs']).toMatchObject([{ state: 'ready', process: 'mcp-ruled', tools: 5 }])
  const member = await laboratory.keyOf({ subject: 'ben' })
  expect((await get('/ruled', member)).body['runs']).toEqual([])
  expect((await get('/ruled/logs', member)).body['items']).toEqual([])
  const logs = await get('/ruled/logs')
  expect(logs.text).toContain('complaint at start')
  const ended = await laboratory.post('/v1/mcp/servers/ruled/restart', {}, { key: keys.admin })
  expect(ended).toMatchObject({ status: 200, body: { runs: [] } })
  expect(textOf(await call('ruled', 'pid', { session: 'talk' }))).not.toBe(pid)
})

test('its start is told line by line, and so is why it failed', async () => {
  await put('told', config({ command: 'no-such-program' }))
  const stream = (name: string) =>
    laboratory.request(`/v1/mcp/servers/${name}/start`, {
      ...{ method: 'POST', key: keys.member, body: { session: 'talk' }, headers: { accept: 'text/event-stream' } },
    })
  const failed = await (await stream('told')).text()
  expect(failed).toContain('event: error')
  expect(failed).toContain('"phase":"process_start"')
  await put('told', config())
  const ready = await (await stream('told')).text()
  expect(ready).toMatch(/event: progress\ndata: {"line":"ready"}[\s\S]*event: ready/)
})

test('one that everybody shares is put by who administers all tenants, and shows others nothing of how it is started', async () => {
  expect(await put('common', config({ scope: 'shared' }))).toMatchObject({ status: 403 })
  expect(await put('common', config({ scope: 'shared' }), keys.foreign)).toMatchObject({ status: 403 })
  const args = config({ scope: 'shared', env: { TOKEN: 'x' } })
  expect(await laboratory.send('/v1/mcp/servers/common', { method: 'PUT', body: args })).toMatchObject({ status: 201 })
  const mine = textOf(await call('common', 'pid', {}))
  expect(textOf(await call('common', 'pid', {}, keys.foreignMember))).toBe(mine)
  const seen = await get('/common', keys.foreign)
  expect(seen.body).toMatchObject({ config: { args: [], env_keys: [] }, runs: [] })
  expect((await get('/common/logs', keys.foreign)).body).toEqual({ items: [] })
  expect(await laboratory.post('/v1/mcp/servers/common/restart', {}, { key: keys.foreign })).toMatchObject({ status: 403 })
  const remove = await laboratory.send('/v1/mcp/servers/common', { method: 'DELETE', key: keys.foreign })
  expect(remove).toMatchObject({ status: 404 })
  expect((await get('/common/logs')).body).toEqual({ items: [] })
  expect((await get('/common/logs', keys.admin)).text).toContain('complaint at start')
})

test('nobody comes in by the name that boxes of servers belong to, so nobody runs commands there', async () => {
  await put('alone', config({ scope: 'tenant', env: { TOKEN: 'x' } }))
  expect(textOf(await call('alone', 'env', {}))).toBe('x')
  const { session_id: box } = ((await get('/alone', keys.admin)).body['runs'] as { readonly session_id: string }[])[0] ?? {}
  const service = await laboratory.keyOf({ subject: 'program', kind: 'service' })
  const look = (headers: Readonly<Record<string, string>>) =>
    laboratory.post(`/v1/sessions/${box}/exec`, { argv: ['env'] }, { key: service, headers })
  expect(await look({ 'x-holdfast-on-behalf-of': 'ada' })).toMatchObject({ status: 404 })
  expect(await look({ 'x-holdfast-on-behalf-of': 'holdfast:mcp' })).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  expect((await laboratory.post('/v1/keys', { name: 'k', subject: 'holdfast:mcp' })).status).toBe(400)
  expect((await laboratory.send('/v1/sessions?owner=holdfast%3Amcp', { key: keys.admin })).text).toContain(String(box))
})

test('what everybody shares is changed and removed only by those who administer all tenants', async () => {
  const shared = config({ scope: 'shared' })
  expect(await laboratory.send('/v1/mcp/servers/everybodys', { method: 'PUT', body: shared })).toMatchObject({ status: 201 })
  expect(await put('everybodys', config())).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  const remove = (key?: string) =>
    laboratory.send('/v1/mcp/servers/everybodys', { method: 'DELETE', ...(key === undefined ? {} : { key }) })
  expect(await remove(keys.admin)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  expect((await get('/everybodys', keys.foreignMember)).status).toBe(200)
  expect(await remove()).toMatchObject({ status: 204 })
})

test('why one that everybody shares does not start is for those who have it, and others learn its phase', async () => {
  const body = config({ scope: 'shared', command: '/srv/secret-place/no-such-program' })
  await laboratory.send('/v1/mcp/servers/broken', { method: 'PUT', body })
  const foreign = await call('broken', 'pid', {}, keys.foreignMember)
  expect(foreign.body).toMatchObject({ code: 'command_not_started', details: { phase: 'process_start' } })
  expect(foreign.text).not.toContain('secret-place')
  expect((await get('/broken', keys.foreign)).text).not.toContain('secret-place')
  expect((await get('/broken/logs', keys.admin)).text).toContain('secret-place')
})
