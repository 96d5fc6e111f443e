/** Requests: what is sent, what is sent again, and what becomes of every kind of failure. */
import { expect, test } from 'vitest'
import { isHoldfastError } from '../errors.ts'
import { createTransport } from './transport.ts'
import type { TransportNeeds } from './transport.ts'

type Answer = (request: Request, index: number) => Response | Promise<Response>

function transportTo(answer: Answer, needs: Partial<TransportNeeds> = {}) {
  const seen: Request[] = []
  const transport = createTransport({
    ...{ url: 'http://test:1/base/', apiKey: 'the-key', tenant: undefined, onBehalfOf: undefined, groups: undefined },
    ...{ webSocket: undefined, timeoutMs: 5000, random: () => 0 },
    fetch: async (input, init) => {
      const request = new Request(input, init)
      seen.push(request)
      return answer(request, seen.length - 1)
    },
    ...needs,
  })
  return { seen, transport }
}

const problem = (code: string, status: number, retry: string) =>
  Response.json({ code, title: `about ${code}`, retry, hint: 'do this', details: { a: 1 }, request_id: 'req_1' }, { status })
const noServer: Answer = () => {
  throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
}

test('a request carries the key, who speaks, its query and its body', async () => {
  const { seen, transport } = transportTo(() => Response.json({ ok: true }), { tenant: 'acme', onBehalfOf: 'ann', groups: ['a', 'b'] })
  const query = { path: '/a b&c', depth: 2, label: ['x=1', 'y=2'], skipped: undefined, parents: false }
  expect(await transport.json({ method: 'POST', path: '/v1/x', query, json: { a: 1 } })).toEqual({ ok: true })
  const [request] = seen
  expect(request?.url).toBe('http://test:1/base/v1/x?path=%2Fa+b%26c&depth=2&label=x%3D1&label=y%3D2&parents=false')
  expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
    authorization: 'Bearer the-key',
    'content-type': 'application/json',
    'x-holdfast-groups': 'a,b',
    'x-holdfast-on-behalf-of': 'ann',
    'x-holdfast-tenant': 'acme',
  })
  expect(await request?.json()).toEqual({ a: 1 })
})

test('a POST is sent again under the same Idempotency-Key, and the next one under another', async () => {
  const { seen, transport } = transportTo((request, index) => (index < 2 ? noServer(request, index) : Response.json({})))
  await transport.json({ method: 'POST', path: '/a' })
  await transport.json({ method: 'POST', path: '/a' })
  const keys = seen.map(({ headers }) => headers.get('idempotency-key'))
  expect(keys[0]).toMatch(/^[\x21-\x7e]{20,255}$/)
  expect(keys.slice(0, 3)).toEqual([keys[0], keys[0], keys[0]])
  expect(keys[3]).not.toBe(keys[0])
})

test('an answer that breaks off is asked for again', async () => {
  const cut = () =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"ok":')),
        pull: (controller) => controller.error(new Error('reset')),
      }),
    )
  const { seen, transport } = transportTo((_request, index) => (index === 0 ? cut() : Response.json({ ok: 2 })))
  expect(await transport.json({ path: '/a' })).toEqual({ ok: 2 })
  expect(seen).toHaveLength(2)
})

test('what is not safe twice is sent once', async () => {
  for (const request of [{ method: 'PUT' }, { method: 'DELETE' }, { method: 'PATCH' }, { method: 'POST', isOnce: true }] as const) {
    const { seen, transport } = transportTo(noServer)
    await expect(transport.json({ ...request, path: '/a' })).rejects.toMatchObject({ code: 'server_unreachable' })
    expect(seen).toHaveLength(1)
    expect(seen[0]?.headers.has('idempotency-key')).toBe(false)
  }
})

test('a server that is not there is tried five times, and the error says where and why', async () => {
  const { seen, transport } = transportTo(noServer)
  const error = await transport.json({ path: '/a' }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'server_unreachable', status: 0, retry: 'after-delay', requestId: null })
  expect(String(error)).toContain('http://test:1/base')
  expect(String(error)).toContain('ECONNREFUSED')
  expect(isHoldfastError(error) && error.cause).toBeInstanceOf(TypeError)
  expect(seen).toHaveLength(5)
})

test('a refusal is thrown with everything that the server said, and not repeated', async () => {
  const { seen, transport } = transportTo(() => problem('not_found', 404, 'never'))
  await expect(transport.json({ path: '/a' })).rejects.toMatchObject({
    ...{ name: 'HoldfastError', code: 'not_found', message: 'about not_found', status: 404, retry: 'never', hint: 'do this' },
    ...{ details: { a: 1 }, requestId: 'req_1' },
  })
  expect(seen).toHaveLength(1)
})

test('"later" is tried again', async () => {
  const { transport } = transportTo((_request, index) =>
    index < 3 ? problem('session_unavailable', 503, 'after-delay') : Response.json(1),
  )
  expect(await transport.json({ path: '/a' })).toBe(1)
})

test('a gateway without its server is an unreachable server; a page of somebody else’s is no answer', async () => {
  const html = (status: number) => new Response('<html>Bad Gateway</html>', { status })
  await expect(transportTo(() => html(502)).transport.json({ path: '/a', method: 'PUT' })).rejects.toMatchObject({
    ...{ code: 'server_unreachable', status: 502, retry: 'after-delay' },
  })
  await expect(transportTo(() => html(404)).transport.json({ path: '/a' })).rejects.toMatchObject({ code: 'invalid_answer', status: 404 })
  await expect(transportTo(() => html(200)).transport.json({ path: '/a' })).rejects.toMatchObject({ code: 'invalid_answer' })
  const moved = () => new Response(null, { status: 301, headers: { location: 'https://elsewhere' } })
  await expect(transportTo(moved).transport.json({ path: '/a' })).rejects.toMatchObject({ code: 'invalid_answer', status: 301 })
})

const never: Answer = ({ signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))
  })

test('a call that is not answered in time fails and says so', async () => {
  const { seen, transport } = transportTo(never)
  await expect(transport.json({ path: '/a', timeoutMs: 5 })).rejects.toMatchObject({
    ...{ code: 'request_timed_out', message: 'GET http://test:1/base/a was not answered within 5 ms' },
  })
  expect(seen).toHaveLength(1)
})

test('time that is up while "later" is waited for shows what was waited for', async () => {
  const { transport } = transportTo(() => {
    const body = { code: 'capacity_exhausted', title: 'full', retry: 'after-delay' }
    return Response.json(body, { status: 429, headers: { 'retry-after': '60' } })
  })
  await expect(transport.json({ path: '/a', timeoutMs: 20 })).rejects.toMatchObject({ code: 'capacity_exhausted', status: 429 })
})

test('the reason of the caller’s signal is what is thrown, before, during and between tries', async () => {
  const reason = new Error('changed my mind')
  const during = new AbortController()
  const asked = transportTo(never).transport.json({ path: '/a', signal: during.signal })
  during.abort(reason)
  await expect(asked).rejects.toBe(reason)
  const before = transportTo(() => Response.json(1))
  await expect(before.transport.json({ path: '/a', signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  const between = new AbortController()
  const { transport, seen } = transportTo((request, index) => {
    queueMicrotask(() => between.abort(reason))
    return noServer(request, index)
  })
  await expect(transport.json({ path: '/a', signal: between.signal })).rejects.toBe(reason)
  expect(seen).toHaveLength(1)
})

test('an address that is none, and a name that no header takes, are refused at once', () => {
  const refused = expect.objectContaining({ code: 'invalid_request' })
  expect(() => transportTo(noServer, { url: 'localhost:5410' })).toThrow(refused)
  expect(() => transportTo(noServer, { onBehalfOf: 'Zoë 名' })).toThrow(refused)
})

test('a runtime without WebSocket is told what to do', () => {
  const { transport } = transportTo(noServer)
  expect(() => transport.socket('/v1/sessions/x/terminal', {}, 'holdfast.terminal.v1')).toThrow(
    expect.objectContaining({ code: 'capability_unsupported' }),
  )
})
