/** The door for upgrades: who gets a socket, what the others are told, and who may not stay. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { HoldfastError, KEY_PROTOCOL_PREFIX, ProblemDocument, TERMINAL_PROTOCOL } from '@holdfast/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { untilHolds } from '../../../../../test/servers/eventually.ts'
import { reachOf } from '../../access/roles.ts'
import { listen } from '../http-listener.ts'
import type { HttpListener } from '../http-listener.ts'
import { ADMIN_KEY, openLaboratory } from '../rest/contract/laboratory.ts'
import type { Laboratory } from '../rest/contract/laboratory.ts'
import { errorsOf } from '../rest/openapi.ts'
import { openTerminal, refusalOf } from './contract/terminal-client.ts'
import type { Dialling, Refusal, TerminalClient } from './contract/terminal-client.ts'
import { socketDoor } from './socket-door.ts'
import type { SocketDoor } from './socket-door.ts'
import type { SocketRow } from './socket-row.ts'
import { socketRows } from './sockets.ts'

const NAME = 'process-of-ada'
const MISSING = { id: 'ses_0000000000000000', name: NAME }
const WRONG_KEY = 'hf_0000000000000000000000000000000000000000000'

let laboratory: Laboratory
let door: SocketDoor
let listener: HttpListener
let rows: readonly SocketRow[]
let url: string
const keys = { ada: '', ben: '', viewer: '', eve: '' }
const there = { id: '', name: NAME }
const clients: TerminalClient[] = []

beforeAll(async () => {
  laboratory = await openLaboratory({ HOLDFAST_SESSIONS_TERMINAL_GRACE_SECONDS: '1' })
  const { plane, admin, keyOf, post, entrance } = laboratory
  const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
  const other = await plane.tenants.create(admin, { name: 'other', policy, quotas: {} })
  keys.ada = await keyOf({ subject: 'ada' })
  keys.ben = await keyOf({ subject: 'ben' })
  keys.viewer = await keyOf({ subject: 'vera', role: 'viewer' })
  keys.eve = await keyOf({ subject: 'eve', role: 'tenant_admin' }, other.id)
  there.id = (await post('/v1/sessions', { key: 'work', wait_ms: 9000 }, { key: keys.ada })).field('id')
  rows = socketRows(plane.sessions)
  door = socketDoor({ ...entrance, rows, reads: plane.sessions.reads, recheckEveryMs: 20, pingEveryMs: 160 })
  listener = await listen((request) => laboratory.door.fetch(request), door.upgrade, '127.0.0.1', 0)
  url = `http://127.0.0.1:${listener.port}`
})
afterEach(() => {
  for (const client of clients.splice(0)) client.vanish()
})
afterAll(async () => {
  await door.close()
  await listener.close()
  await laboratory.close()
})

const pathOf = ({ path }: SocketRow, ids: Readonly<Record<string, string>>) =>
  path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? '')
const at = (row: SocketRow, ids: Readonly<Record<string, string>>, query = '') => `${url}${pathOf(row, ids)}${query}`
const terminal = (query = '?cwd=/') => `${url}/v1/sessions/${there.id}/terminal${query}`
const open = async (address: string, dialling: Dialling) => {
  const client = await openTerminal(address, dialling)
  clients.push(client)
  return client
}
/** What an outsider can compare: everything but the request's own id, and what it asked for itself. */
function told({ status, headers, text: body }: Refusal, ids: Readonly<Record<string, string>>): unknown {
  const { 'x-request-id': requestId = '', ...rest } = headers
  return {
    status,
    headers: rest,
    text: Object.values(ids).reduce((all, id) => all.replaceAll(id, '<id>'), body.replaceAll(requestId, '<request>')),
  }
}

describe('every row of the table', () => {
  test('refuses nobody in particular: no key and a wrong one learn nothing of what is there', async () => {
    for (const row of rows)
      for (const key of [null, WRONG_KEY]) {
        const refusal = await refusalOf(at(row, there), { protocols: [row.protocol], key })
        expect(refusal).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' }, body: { code: 'unauthorized' } })
        expect(told(await refusalOf(at(row, MISSING), { protocols: [row.protocol], key }), MISSING)).toEqual(told(refusal, there))
      }
  })

  test.each(['ben', 'eve'] as const)('is missing to %s, whether it is there or not: status, body and headers', async (who) => {
    for (const row of rows) {
      const hidden = await refusalOf(at(row, there), { protocols: [row.protocol], key: keys[who] })
      expect(hidden).toMatchObject({ status: 404, headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' } })
      expect(told(hidden, there)).toEqual(told(await refusalOf(at(row, MISSING), { protocols: [row.protocol], key: keys[who] }), MISSING))
    }
  })

  test('is seen by a viewer, who is refused what the table of roles refuses', async () => {
    for (const row of rows) {
      expect(reachOf('viewer', row.authorization, { admin_exec: false })).toBe('never')
      expect(await refusalOf(at(row, there), { protocols: [row.protocol], key: keys.viewer })).toMatchObject({
        status: 403,
        body: { code: 'forbidden' },
      })
      expect((await refusalOf(at(row, MISSING), { protocols: [row.protocol], key: keys.viewer })).status).toBe(404)
    }
  })

  test('is described in the route table, where one who asks for no socket is told to', async () => {
    for (const row of rows) {
      const route = laboratory.routes.find(({ method, path }) => method === 'GET' && path === row.path)
      if (route === undefined) throw new Error(`${row.path} is not there`)
      expect(route.authorization).toBe(row.authorization)
      expect([...errorsOf(route)]).toEqual(expect.arrayContaining([...row.errors, 'upgrade_required']))
      const plain = await laboratory.send(pathOf(row, there), { key: keys.ada })
      expect(plain).toMatchObject({ status: 426, body: { code: 'upgrade_required' } })
      expect((await laboratory.send(pathOf(row, there), { key: keys.ben })).status).toBe(404)
    }
  })

  test('refuses with what it declares, as a problem document that names the request', async () => {
    const refusals = [
      await refusalOf(terminal('?colour=red'), { key: keys.ada }),
      await refusalOf(terminal('?cols=1&cols=2'), { key: keys.ada }),
      await refusalOf(terminal('?cwd=/no/such'), { key: keys.ada }),
      await refusalOf(terminal(), { key: keys.ada, protocols: ['chat'] }),
      await refusalOf(`${url}/v1/sessions/bad%20id/terminal`, { key: keys.ada }),
      await refusalOf(`${url}/v1/sessions`, { key: keys.ada }),
      await refusalOf(`${url}/v1/nothing`, { key: keys.ada }),
      await refusalOf(`${url}/v1/nothing`),
      await refusalOf(terminal(), { key: keys.ada, headers: { host: 'evil.example' } }),
      await refusalOf(terminal(), { key: keys.ada, headers: { origin: 'https://evil.example' } }),
    ]
    expect(refusals.map(({ status }) => status)).toEqual([400, 400, 422, 400, 400, 404, 404, 401, 403, 403])
    for (const { body, headers } of refusals) {
      expect(ProblemDocument.parse(body).request_id).toBe(headers['x-request-id'])
      expect(headers['connection']).toBe('close')
    }
  })
})

describe('the key', () => {
  test('may come as a header of either kind, or, from a browser, as a subprotocol that is not spoken back', async () => {
    for (const headers of [{ authorization: `Bearer ${keys.ada}` }, { 'x-api-key': keys.ada }])
      expect((await open(terminal(), { headers })).socket.protocol).toBe(TERMINAL_PROTOCOL)
    const browser = { protocols: [TERMINAL_PROTOCOL, `${KEY_PROTOCOL_PREFIX}${keys.ada}`], headers: { origin: url } }
    expect((await open(terminal(), browser)).socket.protocol).toBe(TERMINAL_PROTOCOL)
    const wrong = { protocols: [TERMINAL_PROTOCOL, `${KEY_PROTOCOL_PREFIX}${WRONG_KEY}`] }
    expect((await refusalOf(terminal(), wrong)).status).toBe(401)
    // A header is stronger, so that nobody is somebody else by a list of words.
    expect((await refusalOf(terminal(), { key: keys.ben, protocols: browser.protocols })).status).toBe(404)
  })

  test('a client that names no subprotocol means the one there is', async () => {
    const client = await open(terminal(), { key: keys.ada, protocols: [] })
    expect(client.socket.protocol).toBe('')
    await client.message('started')
  })

  test('that is revoked ends the sockets of its holder, and no other', async () => {
    const { plane, admin, keyOf } = laboratory
    const short = await keyOf({ subject: 'ada', name: 'short-lived' })
    const [doomed, kept] = [await open(terminal(), { key: short }), await open(terminal(), { key: keys.ada })]
    await doomed.message('started')
    const id = (await plane.keys.list(admin, null, 100)).find(({ name }) => name === 'short-lived')?.id ?? ''
    await plane.keys.revoke(admin, id)
    expect(await doomed.message('error')).toMatchObject({ problem: { code: 'unauthorized', status: 401 } })
    expect(await doomed.closed()).toBe(1008)
    kept.type('echo still $((6*7))\n')
    await kept.reads('still 42')
  })

  test('of somebody who lost the session ends the socket too', async () => {
    const zoe = await laboratory.keyOf({ subject: 'zoe' })
    const id = (await laboratory.post('/v1/sessions', { key: 'lent', wait_ms: 9000 }, { key: zoe })).field('id')
    const client = await open(`${url}/v1/sessions/${id}/terminal?cwd=/`, { key: zoe })
    await client.message('started')
    const { headers } = await laboratory.send(`/v1/sessions/${id}`)
    await laboratory.post(`/v1/sessions/${id}/transfer`, { owner: 'ben' }, { headers: { 'if-match': headers['etag'] ?? '' } })
    expect(await client.message('error')).toMatchObject({ problem: { code: 'not_found' } })
    expect(await client.closed()).toBe(1008)
  })
})

describe('a connection', () => {
  /** Speaks for itself, to say what no library would. */
  const speak = async (lines: readonly string[]) => {
    const socket = connect(listener.port, '127.0.0.1')
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    return text(socket)
  }
  const GOOD = () => [
    `GET /v1/sessions/${there.id}/terminal HTTP/1.1`,
    ...['host: 127.0.0.1', 'connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'],
    ...['sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==', `authorization: Bearer ${keys.ada}`],
  ]

  test.each([
    ['another method', (line: string) => line.replace(/^GET/, 'POST')],
    ['another version', (line: string) => line.replace('version: 13', 'version: 12')],
    ['a bad key of its own', (line: string) => line.replace('AAAAAAAAAAAAAAAAAAAAAA==', 'x')],
    [
      'a list of subprotocols that is none',
      (line: string) => line.replace('host: 127.0.0.1', 'host: 127.0.0.1\r\nsec-websocket-protocol: a, a'),
    ],
  ])('with %s is refused with a problem, and starts nothing', async (_, spoil) => {
    const before = (await laboratory.send(`/v1/sessions/${there.id}`, { key: keys.ada })).body['execution_count']
    const answer = await speak(GOOD().map(spoil))
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).toContain('"code":"invalid_request"')
    expect((await laboratory.send(`/v1/sessions/${there.id}`, { key: keys.ada })).body['execution_count']).toBe(before)
  })

  test('that asks for another upgrade is served without one', async () => {
    const plain = ['GET /healthz HTTP/1.1', 'host: 127.0.0.1', 'connection: upgrade, close', 'upgrade: h2c']
    expect(await speak(plain)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })

  test('whose client leaves while its terminal is being started leaves nothing that runs on', async () => {
    const id = (await laboratory.post('/v1/sessions', { key: 'left', wait_ms: 9000 }, { key: keys.ada })).field('id')
    const path = `/v1/sessions/${id}`
    await Promise.all(
      Array.from({ length: 5 }, async (_, index) => {
        const socket = connect(listener.port, '127.0.0.1')
        const lines = GOOD().map((line) => line.replace(`/v1/sessions/${there.id}/terminal`, `${path}/terminal?cwd=/&command=sleep+600`))
        socket.write(`${lines.join('\r\n')}\r\n\r\n`)
        // Each a little later on its way in.
        for (let turn = 0; turn < index * 2; turn += 1) await new Promise((resolve) => setImmediate(resolve))
        if (index % 2 === 0) socket.destroy()
        else socket.end()
        socket.resume()
        await once(socket, 'close')
      }),
    )
    await untilHolds(async () => {
      const { body } = await laboratory.send(path, { key: keys.ada })
      expect(body['running']).toBe(0)
      expect(laboratory.plane.sessions.attended).toBe(0)
    })
  })

  test('that does not answer is cut off; one that answers is not', async () => {
    const [deaf, kept] = [await open(terminal(), { key: keys.ada }), await open(terminal(), { key: keys.ada })]
    await Promise.all([deaf.message('started'), kept.message('started')])
    deaf.socket.pause()
    const pings = vi.fn()
    kept.socket.on('ping', pings)
    await expect.poll(() => pings.mock.calls.length).toBeGreaterThan(4)
    kept.type('echo still $((6*7))\n')
    await kept.reads('still 42')
    deaf.socket.resume()
    expect(await deaf.closed()).toBe(1006)
  })
})

test('who asks too often gets no socket', async () => {
  const { plane, entrance } = laboratory
  const admit = () => {
    throw new HoldfastError('rate_limited', 'you ask too often')
  }
  const busy = socketDoor({ ...entrance, admit, rows, reads: plane.sessions.reads })
  const place = await listen(() => new Response('no'), busy.upgrade, '127.0.0.1', 0)
  const address = `http://127.0.0.1:${place.port}/v1/sessions/${there.id}/terminal`
  expect(await refusalOf(address, { key: keys.ada })).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
  // Who has no key is not counted as anybody.
  expect((await refusalOf(address)).status).toBe(401)
  await place.close()
})

test('a door that closes says so to everybody and lets nobody in', async () => {
  const { plane, entrance } = laboratory
  const other = socketDoor({ ...entrance, rows, reads: plane.sessions.reads })
  const place = await listen(() => new Response('no'), other.upgrade, '127.0.0.1', 0)
  const address = `http://127.0.0.1:${place.port}/v1/sessions/${there.id}/terminal?cwd=/`
  const [polite, deaf] = [await open(address, { key: ADMIN_KEY, headers: onBehalfOfAda }), await open(address, { key: keys.ada })]
  deaf.socket.pause()
  await other.close()
  expect(await polite.closed()).toBe(1001)
  expect(await refusalOf(address, { key: keys.ada })).toMatchObject({ status: 503, body: { code: 'server_stopping' } })
  await place.close()
})
const onBehalfOfAda = { 'x-holdfast-on-behalf-of': 'ada' }
