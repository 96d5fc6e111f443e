/** Who comes in through the door, how often, and from which pages. Behind it stand routes that answer at once. */
import { HealthView, ProblemDocument } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { createAuthenticator } from '../../access/authenticate.ts'
import { callerOf } from '../../access/authorize.ts'
import { clientAddresses } from '../../access/client-address.ts'
import { hostCheck } from '../../access/listen-address.ts'
import { rateLimit } from '../../access/rate-limits.ts'
import { slowGuessing } from '../../access/slow-guessing.ts'
import type { Rate } from '../../access/token-buckets.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { docsRoutes } from './docs-routes.ts'
import { restDoor } from './door.ts'
import { json, publicRoute, route } from './route.ts'
import type { Route } from './route.ts'

const KEY = 'the-key-of-this-test'
const answers = { 200: json('Health', HealthView, 'It is') }
const body = { status: 'ok', backend: 'b', version: 'v', backend_version: 'w' } as const
const rechecks: (() => Promise<void>)[] = []

const ROUTES: readonly Route[] = [
  route({
    ...{ method: 'POST', path: '/v1/exec', summary: 'Work', authorization: 'any-principal', answers, errors: [] },
    async handle({ recheck }) {
      rechecks.push(recheck)
      return { status: 200, body, headers: { etag: '"1"', vary: 'Accept-Language' } }
    },
  }),
  route({
    ...{ method: 'GET', path: '/v1/tenants', summary: 'Administer', authorization: 'manage-tenants', answers, errors: [] },
    handle: async () => ({ status: 200, body }),
  }),
  publicRoute({ method: 'GET', path: '/healthz', summary: 'Health', answers, errors: [], handle: async () => ({ status: 200, body }) }),
]

interface Setting {
  readonly requests?: Rate
  readonly failures?: Rate
  readonly proxies?: readonly string[]
  readonly origins?: readonly string[]
}

function open({ requests, failures, proxies = [], origins = [] }: Setting = {}) {
  const time = { now: 1_000_000 }
  const clock = () => time.now
  const lines: string[] = []
  const log = jsonLog('info', (line) => lines.push(line))
  const authenticate = createAuthenticator({
    adminKey: { matches: (candidate) => candidate === KEY },
    keys: { find: async () => null },
    tenants: { idOf: async () => null },
  })
  const door = restDoor({
    routes: [...ROUTES, ...docsRoutes(ROUTES, '0')],
    authenticate: slowGuessing({ authenticate, rate: failures ?? null, clock, log }),
    callerOf: async (principal) => callerOf(principal, { admin_exec: false }),
    admit: rateLimit({ rate: requests ?? null, clock }),
    clientAddress: clientAddresses(proxies),
    checkHost: hostCheck('127.0.0.1'),
    allowedOrigins: new Set(origins),
    idempotency: {
      once: async (_request, perform) => ({ reply: await perform({ executionId: 'exe_claimed', isTakenOver: false }), isRepeated: false }),
    },
    log,
  })
  const send = async (method: string, path: string, headers: Readonly<Record<string, string>> = {}, peer = '198.51.100.7') => {
    const all = { host: '127.0.0.1:5410', 'x-api-key': KEY, ...headers }
    return door.request(`http://127.0.0.1:5410${path}`, { method, headers: all }, { peer })
  }
  const statuses = async (count: number, ...how: Parameters<typeof send>) => {
    const all: number[] = []
    for (let index = 0; index < count; index += 1) all.push((await send(...how)).status)
    return all
  }
  return { time, send, statuses, lines }
}

describe('how often', () => {
  const requests = { perSecond: 2, burst: 3 }

  test('too many requests are 429 with when to come again, and a second later there are some more', async () => {
    const { statuses, send, time } = open({ requests })
    expect(await statuses(5, 'POST', '/v1/exec')).toEqual([200, 200, 200, 429, 429])
    const refused = await send('POST', '/v1/exec')
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      ...{ 'retry-after': '1', 'ratelimit-policy': '"requests";q=3;w=2', ratelimit: '"requests";r=0;t=1' },
      'content-type': 'application/problem+json',
    })
    expect(ProblemDocument.parse(await refused.json())).toMatchObject({ code: 'rate_limited', retry: 'after-delay', status: 429 })
    time.now += 1000
    expect(await statuses(4, 'POST', '/v1/exec')).toEqual([200, 200, 429, 429])
  })

  test('what is refused for another reason counts as well: no right, no such method, no such address', async () => {
    for (const [method, path, headers, status] of [
      ['GET', '/v1/tenants', { 'x-holdfast-on-behalf-of': 'ada' }, 403],
      ['PUT', '/v1/exec', {}, 405],
      ['GET', '/v1/nowhere', {}, 404],
    ] as const) {
      const { statuses } = open({ requests })
      expect(await statuses(4, method, path, { ...headers })).toEqual([status, status, status, 429])
    }
  })

  test('users whom a key speaks for do not use up one another’s', async () => {
    const { statuses } = open({ requests })
    expect(await statuses(4, 'POST', '/v1/exec', { 'x-holdfast-on-behalf-of': 'ada' })).toEqual([200, 200, 200, 429])
    expect(await statuses(4, 'POST', '/v1/exec', { 'x-holdfast-on-behalf-of': 'bob' })).toEqual([200, 200, 200, 429])
  })

  test('health, the document and the reference are not counted', async () => {
    const { statuses } = open({ requests })
    await statuses(4, 'POST', '/v1/exec')
    for (const path of ['/healthz', '/openapi.json', '/docs']) expect(await statuses(10, 'GET', path)).not.toContain(429)
  })

  test('asking again whether somebody may still read is no request', async () => {
    const { statuses } = open({ requests })
    rechecks.length = 0
    await statuses(1, 'POST', '/v1/exec')
    for (let index = 0; index < 10; index += 1) await rechecks[0]?.()
    expect(await statuses(3, 'POST', '/v1/exec')).toEqual([200, 200, 429])
  })
})

describe('guessing', () => {
  const failures = { perSecond: 1, burst: 2 }
  const wrong = { 'x-api-key': 'not-the-key' }

  test('is slow for one address, and others do not notice', async () => {
    const { statuses, send } = open({ failures })
    expect(await statuses(4, 'POST', '/v1/exec', wrong)).toEqual([401, 401, 429, 429])
    expect((await send('POST', '/v1/exec', wrong)).headers.get('ratelimit-policy')).toBe('"failed-authentication";q=2;w=2')
    expect((await send('POST', '/v1/exec')).status).toBe(429)
    expect((await send('POST', '/v1/exec', {}, '203.0.113.9')).status).toBe(200)
  })

  test('is counted for the client behind a trusted proxy, and for nobody’s invention otherwise', async () => {
    const forwarded = (from: string) => ({ ...wrong, 'x-forwarded-for': from })
    const trusting = open({ failures, proxies: ['10.0.0.1'] })
    expect(await trusting.statuses(3, 'POST', '/v1/exec', forwarded('203.0.113.1'), '10.0.0.1')).toEqual([401, 401, 429])
    expect(await trusting.statuses(1, 'POST', '/v1/exec', forwarded('203.0.113.2'), '10.0.0.1')).toEqual([401])
    const other = open({ failures })
    const inventing = [1, 2, 3].map((index) => () => other.send('POST', '/v1/exec', forwarded(`203.0.113.${index}`)))
    const all: number[] = []
    for (const attempt of inventing) all.push((await attempt()).status)
    expect(all).toEqual([401, 401, 429])
  })

  test('is in the log, with the address and without the key', async () => {
    const { statuses, lines } = open({ failures })
    await statuses(2, 'POST', '/v1/exec', wrong)
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { event: 'authentication-failed', reason: 'key-not-valid', client: '198.51.100.7' },
      { event: 'authentication-failed' },
    ])
    expect(lines.join('')).not.toContain('not-the-key')
  })
})

describe('pages of other origins', () => {
  const APP = 'https://app.example'
  const asking = { origin: APP, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }

  test('may do nothing by default, not even ask', async () => {
    const { send } = open()
    for (const answer of [await send('OPTIONS', '/v1/exec', asking), await send('POST', '/v1/exec', { origin: APP })]) {
      expect(answer.status).toBe(403)
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  test('that are named may ask and use the API with a key of their own, and read what they need', async () => {
    const { send } = open({ origins: [APP] })
    const asked = await send('OPTIONS', '/v1/exec', { ...asking, 'x-api-key': 'not-sent-by-browsers' })
    expect(asked.status).toBe(204)
    const told = Object.fromEntries(asked.headers)
    expect(told).toMatchObject({ 'access-control-allow-origin': APP, 'access-control-max-age': '600' })
    expect(told['access-control-allow-methods']).toContain('PATCH')
    expect(told['access-control-allow-headers']).toContain('Authorization')
    expect(told['access-control-allow-credentials']).toBeUndefined()
    const answer = await send('POST', '/v1/exec', { origin: APP })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
    expect(answer.headers.get('vary')).toBe('Accept-Language, Origin')
    for (const name of ['ETag', 'Location', 'X-Request-Id', 'RateLimit', 'Retry-After'])
      expect(answer.headers.get('access-control-expose-headers')).toContain(name)
  })

  test('that are named may be MCP clients: their headers are allowed by name, and nothing else that is asked for', async () => {
    const { send } = open({ origins: [APP] })
    const wanted = ['mcp-session-id', 'mcp-protocol-version', 'Mcp-Param-Region', 'holdfast-session', 'Holdfast-Var-Launcher-Id']
    const others = ['cookie', 'x-mcp-session-id', 'mcp-', 'mcp-a b', `mcp-${'a'.repeat(200)}`]
    const asked = { ...asking, 'access-control-request-headers': [...wanted, ...others].join(',') }
    const allowed = (await send('OPTIONS', '/mcp', asked)).headers.get('access-control-allow-headers')?.split(', ') ?? []
    expect(allowed).toEqual(expect.arrayContaining(wanted))
    expect(allowed.filter((name) => others.includes(name))).toEqual([])
    const many = { ...asking, 'access-control-request-headers': Array.from({ length: 500 }, (_, n) => `mcp-${n}`).join(',') }
    expect((await send('OPTIONS', '/mcp', many)).headers.get('access-control-allow-headers')?.split(', ').length).toBeLessThan(100)
    const answer = await send('POST', '/v1/exec', { origin: APP })
    expect(answer.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id')
  })

  test('are not spoken of to programs and to pages of this server, but that answers differ is said', async () => {
    const { send } = open({ origins: [APP] })
    for (const headers of [{}, { origin: 'http://127.0.0.1:5410' }]) {
      const answer = await send('POST', '/v1/exec', { ...headers })
      expect(answer.status).toBe(200)
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      expect(answer.headers.get('vary')).toBe('Accept-Language, Origin')
    }
  })

  test('that are named may read refusals too; the key is needed all the same', async () => {
    const { send } = open({ origins: [APP] })
    const refused = await send('POST', '/v1/exec', { origin: APP, 'x-api-key': 'wrong' })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('access-control-allow-origin')).toBe(APP)
    expect((await send('GET', '/v1/nowhere', { origin: APP })).headers.get('access-control-allow-origin')).toBe(APP)
  })

  test.each(['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'https://app.example:8443', 'null', '*'])(
    'from %s are refused though another is named',
    async (origin) => {
      const { send } = open({ origins: [APP] })
      for (const answer of [await send('OPTIONS', '/v1/exec', { ...asking, origin }), await send('POST', '/v1/exec', { origin })]) {
        expect(answer.status).toBe(403)
        expect(answer.headers.get('access-control-allow-origin')).toBeNull()
      }
    },
  )

  test('an OPTIONS that is no such question is a method that is not there', async () => {
    const { send } = open({ origins: [APP] })
    expect((await send('OPTIONS', '/v1/exec', { origin: APP })).status).toBe(405)
  })
})

describe('the reference', () => {
  test('needs no key and is a page that may do nothing', async () => {
    const { send } = open()
    const answer = await send('GET', '/docs', { 'x-api-key': 'wrong' })
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...{
        'content-type': 'text/html; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^req_/),
      },
      'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src 'sha256-/),
    })
    expect(await answer.text()).toMatch(/^<!doctype html>/)
  })

  test('is described by the document, which describes itself', async () => {
    const { send } = open()
    const { paths } = (await (await send('GET', '/openapi.json')).json()) as { readonly paths: object }
    expect(Object.keys(paths)).toEqual(['/v1/exec', '/v1/tenants', '/healthz', '/openapi.json', '/docs'])
  })
})
