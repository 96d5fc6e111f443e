/** Sessions over REST: got or created, listed, changed on a version, ended. */
import { SessionRecord } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { explicitKey } from '../../policy/scopes/scope.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Answer, Laboratory } from './contract/laboratory.ts'

let laboratory: Laboratory
let ada: string
beforeAll(async () => {
  laboratory = await openLaboratory({ HOLDFAST_QUOTAS_SESSIONS_PER_OWNER: '40' })
  ada = await laboratory.keyOf({ subject: 'ada' })
})
afterAll(() => laboratory.close())

const recordOf = ({ body }: Answer) => SessionRecord.parse(body)
const itemsOf = ({ body }: Answer) => SessionRecord.array().parse(body['items'])
const create = async (body: object, key = ada) => laboratory.post('/v1/sessions', body, { key })

describe('get or create', () => {
  test('a new session is 201 with its address, the same key again 200 with the same session', async () => {
    const made = await create({ key: 'twice', labels: { team: 'a' }, metadata: { note: 'x\ny' }, wait_ms: 10_000 })
    expect(made.status).toBe(201)
    const record = recordOf(made)
    expect(record).toMatchObject({
      key: 'twice',
      owner: 'ada',
      state: 'idle',
      labels: { team: 'a' },
      metadata: { note: 'x\ny' },
      incarnation: 1,
    })
    expect(record.expires_reason).toBe('retention')
    expect(record.deadlines.idle_at).not.toBeNull()
    expect(made.headers).toMatchObject({ location: `/v1/sessions/${record.id}`, etag: `"${record.version}"` })
    const again = await create({ key: 'twice' })
    expect(again).toMatchObject({ status: 200, body: { id: record.id } })
  })

  test('a scope and its variables make the key; the scope’s idle time and the wished times count', async () => {
    const variables = { user_id: 'u', task_id: 't' }
    const record = recordOf(
      await create({ scope: 'app', variables, times: { lease_seconds: 60, lifetime_seconds: null, on_idle: 'release' } }),
    )
    expect(record).toMatchObject({ key: 'app:u:t', scope: 'app', on_idle: 'release' })
    expect(Date.parse(String(record.deadlines.lease_at)) - Date.parse(record.created_at)).toBe(60_000)
  })

  test('an open session that is not what is asked for is refused, naming the fields', async () => {
    await create({ key: 'plain' })
    const answer = await create({ key: 'plain', network: 'on', limits: { pids: 9 } })
    expect(answer).toMatchObject({ status: 409, body: { code: 'session_incompatible', details: { fields: ['network', 'limits.pids'] } } })
  })

  test('the id of a session is no key: the released one does not come back as a new session under its id', async () => {
    const { id } = recordOf(await create({ key: 'over', wait_ms: 10_000 }))
    expect((await laboratory.post(`/v1/sessions/${id}/release`, { if_busy: 'kill' }, { key: ada })).status).toBe(200)
    const refused = { status: 400, body: { code: 'invalid_request', title: expect.stringContaining('send an id as session_id') } }
    expect(await laboratory.post('/v1/exec', { session: id, command: 'true', cwd: '/' }, { key: ada })).toMatchObject(refused)
    expect(await create({ key: id })).toMatchObject({ ...refused, body: { details: { problems: [{ field: 'session_id' }] } } })
  })

  test('a session that has such a key from before is still found by it', async () => {
    const key = 'ses_0123456789abcdef'
    const caller = await laboratory.plane.callerOf({ ...laboratory.admin, subject: 'ada' })
    const { hasIdForm: _, ...before } = explicitKey(key)
    const { session } = await laboratory.plane.sessions.getOrCreate(caller, { key: before, wish: {} }, AbortSignal.timeout(10_000))
    expect(await create({ key })).toMatchObject({ status: 200, body: { id: session.id, key } })
  })

  test('two senders whose variable is misspelt never share a session', async () => {
    const variables = { launcher_type: 'group', launcher_id: '7', senderId: '1' }
    const answer = await create({ scope: 'user', variables })
    expect(answer).toMatchObject({ status: 400, body: { title: expect.stringContaining('variables.sender_id: is missing') } })
    expect(await create({ scope: 'user', variables, missing: 'unknown' })).toMatchObject({ status: 201, body: { key: 'group_7_unknown' } })
  })

  test('nobody creates for another owner without the right to', async () => {
    expect(await create({ key: 'x', owner: 'ben' })).toMatchObject({ status: 403 })
    expect(await create({ key: 'x', owner: 'ben' }, undefined)).toMatchObject({ status: 403 })
    expect(await laboratory.post('/v1/sessions', { key: 'x', owner: 'ben' })).toMatchObject({
      status: 201,
      body: { owner: 'ben', created_by: 'admin' },
    })
  })

  test.each([
    [{}, /key: give exactly one of key, and scope/],
    [{ key: 'a', scope: 'chat' }, /key: give exactly one/],
    [{ key: 'a', colour: 'red' }, /colour: is not a known field/],
    [{ key: 'a\0b' }, /key: must not contain control characters/],
    [{ scope: '{a' }, /is wrong at character 1: this "\{" is not closed/],
    [{ key: 'a', labels: { '': 'x' } }, /labels\.: a name must be 1 to 63/],
    [{ key: 'a', labels: { a: 'x'.repeat(64) } }, /labels\.a: must be text of at most 63/],
    [{ key: 'a', metadata: { a: 'x'.repeat(17_000) } }, /metadata: must be at most 16384 bytes/],
    [{ key: 'a', times: { idle_seconds: 0 } }, /times\.idle_seconds: must be at least 1/],
    [{ key: 'a', wait_ms: 60_001 }, /wait_ms: must be at most 60000/],
    [{ key: 'a', pack: 'Not A Name' }, /pack: must be 1 to 63/],
  ])('%j is refused by name and creates nothing', async (body, sentence) => {
    const before = (await laboratory.send('/v1/sessions?page_size=200')).body['items'] as unknown[]
    expect(await create(body)).toMatchObject({ status: 400, body: { code: 'invalid_request', title: expect.stringMatching(sentence) } })
    expect((await laboratory.send('/v1/sessions?page_size=200')).body['items']).toHaveLength(before.length)
  })
})

describe('lists', () => {
  test('pages go through everything once, newest first, also while more are created', async () => {
    const key = await laboratory.keyOf({ subject: 'paul' })
    const ids: string[] = []
    for (let index = 0; index < 7; index += 1) ids.unshift(recordOf(await create({ key: `p${index}` }, key)).id)
    const seen: string[] = []
    let token: string | null = null
    do {
      const next: string = token === null ? '' : `&page_token=${token}`
      const page = await laboratory.send(`/v1/sessions?page_size=3${next}`, { key })
      seen.push(...itemsOf(page).map(({ id }) => id))
      token = page.body['next_page_token'] as string | null
      await create({ key: `later${seen.length}` }, key)
    } while (token !== null)
    expect(seen).toEqual(ids)
  })

  test('state, owner, key and sandbox narrow a list', async () => {
    const key = await laboratory.keyOf({ subject: 'fiona' })
    const [one, two] = [
      recordOf(await create({ key: 'one', wait_ms: 9000 }, key)),
      recordOf(await create({ key: 'two', wait_ms: 9000 }, key)),
    ]
    await laboratory.post(`/v1/sessions/${two.id}/suspend`, undefined, { key })
    const list = async (filter: string) => itemsOf(await laboratory.send(`/v1/sessions?${filter}`, { key })).map(({ key: name }) => name)
    expect(await list('state=idle')).toEqual(['one'])
    expect(await list('state=idle,suspended')).toEqual(['two', 'one'])
    expect(await list('key=two')).toEqual(['two'])
    expect(await list(`sandbox=${one.sandbox_id}`)).toEqual(['one'])
    expect(await list('owner=nobody')).toEqual([])
  })

  test.each([
    ['statee=idle', /statee: is not a known field/],
    ['state=asleep', /state\.0: must be one or more of pending/],
    ['state=', /state\.0: must be one or more of/],
    ['page_size=0', /page_size: must be a whole number from 1 to 200/],
    ['page_size=1e2', /page_size: must be a whole number/],
    ['page_size=5&page_size=6', /page_size: is given more than once/],
    ['sandbox=a%00b', /sandbox: must be the id of a sandbox/],
  ])('?%s is refused by its name', async (query, sentence) => {
    expect(await laboratory.send(`/v1/sessions?${query}`)).toMatchObject({ status: 400, body: { title: expect.stringMatching(sentence) } })
  })

  test('a token that was changed, belongs to somebody else or to another filter is refused with the same words', async () => {
    const page = await laboratory.send('/v1/sessions?page_size=1')
    const token = String(page.body['next_page_token'])
    const refusals = await Promise.all([
      laboratory.send(`/v1/sessions?page_size=1&page_token=${token}`, { key: ada }),
      laboratory.send(`/v1/sessions?page_size=1&state=idle&page_token=${token}`),
      laboratory.send(`/v1/audit?page_token=${token}`),
      laboratory.send(`/v1/sessions?page_token=${token.slice(0, -2)}`),
      laboratory.send(`/v1/sessions?page_token=x${token}`),
      laboratory.send('/v1/sessions?page_token=WzEsIngiLDBd'),
    ])
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ status: 400, body: { code: 'invalid_page_token', title: refusals[0]?.body['title'] } })
    expect(await laboratory.send(`/v1/sessions?page_size=2&page_token=${token}`)).toMatchObject({ status: 200 })
  })
})

describe('changes', () => {
  test('labels are replaced on the version that was read, or not at all', async () => {
    const { id, version } = recordOf(await create({ key: 'labelled', labels: { a: '1' }, wait_ms: 9000 }))
    const patch = (labels: object, headers = {}) =>
      laboratory.send(`/v1/sessions/${id}`, { method: 'PATCH', body: { labels }, key: ada, headers })
    const changed = await patch({ b: '2' }, { 'if-match': `"${version}"` })
    expect(changed).toMatchObject({ status: 200, body: { labels: { b: '2' } }, headers: { etag: `"${version + 1}"` } })
    expect(await patch({ c: '3' }, { 'if-match': `"${version}"` })).toMatchObject({ status: 409, body: { code: 'version_conflict' } })
    expect(await patch({ c: '3' }, { 'if-match': version })).toMatchObject({
      status: 400,
      body: { title: expect.stringMatching(/If-Match/) },
    })
    expect(await laboratory.send(`/v1/sessions/${id}`, { key: ada })).toMatchObject({ body: { labels: { b: '2' } } })
  })

  test('a condition that would not be looked at is refused', async () => {
    const { id } = recordOf(await create({ key: 'labelled' }))
    const answer = await laboratory.post(`/v1/sessions/${id}/refresh`, {}, { key: ada, headers: { 'if-match': '"1"' } })
    expect(answer).toMatchObject({ status: 400, body: { title: 'If-Match: is not looked at here; leave it out' } })
  })

  test('a transfer needs the version, and then the old owner does not find the session any more', async () => {
    const { id, version } = recordOf(await create({ key: 'given', wait_ms: 9000 }))
    expect(await laboratory.post(`/v1/sessions/${id}/transfer`, { owner: 'ben' })).toMatchObject({ status: 428 })
    const given = await laboratory.post(`/v1/sessions/${id}/transfer`, { owner: 'ben' }, { headers: { 'if-match': `"${version}"` } })
    expect(given).toMatchObject({ status: 200, body: { owner: 'ben' } })
    expect(await laboratory.send(`/v1/sessions/${id}`, { key: ada })).toMatchObject({ status: 404 })
  })

  test('a session is refreshed, held, let go, suspended, resumed, released; a repeated end is answered with its record', async () => {
    const { id } = recordOf(await create({ key: 'life', wait_ms: 9000 }))
    const steer = (verb: string, body?: unknown, key: string = ada) => laboratory.post(`/v1/sessions/${id}/${verb}`, body, { key })
    const refreshed = recordOf(await steer('refresh', { lease_seconds: 600 }))
    expect(refreshed.expires_reason).toBe('lease')
    expect(await steer('hold')).toMatchObject({ status: 403 })
    const operator = await laboratory.keyOf({ subject: 'olga', role: 'operator' })
    expect(recordOf(await steer('hold', { reason: 'looking' }, operator)).held).toMatchObject({ by: 'olga', reason: 'looking' })
    expect(await laboratory.post('/v1/exec', { session_id: id, command: 'true' }, { key: ada })).toMatchObject({
      status: 409,
      body: { code: 'session_held' },
    })
    expect(recordOf(await steer('unhold', undefined, operator)).held).toBeNull()
    expect(recordOf(await steer('suspend'))).toMatchObject({ state: 'suspended', suspend_reason: 'caller', sandbox_id: null })
    expect(recordOf(await steer('resume'))).toMatchObject({ pending_reason: 'resume', incarnation: 2 })
    expect(recordOf(await steer('release'))).toMatchObject({ close_reason: 'release' })
    expect(recordOf(await steer('cancel'))).toMatchObject({ close_reason: expect.stringMatching(/release|cancel/) })
    const next = recordOf(await create({ key: 'life' }))
    expect(next.id).not.toBe(id)
    const over = recordOf(await steer('release'))
    expect(over).toMatchObject({ cleanup: { verified: true, workspace: 'deleted' }, expires_at: null })
    expect(over.closed_at).not.toBeNull()
    expect(await steer('refresh')).toMatchObject({ status: 409, body: { code: 'session_closed' } })
  })
})
