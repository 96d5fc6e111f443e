/** A door on the connection itself checks and refuses as the REST door does, and lets go of what it does not read. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hostCheck } from '../access/listen-address.ts'
import type { Principal } from '../access/principal.ts'
import type { Caller } from '../sessions/caller.ts'
import { createLog } from '../telemetry/log.ts'
import { unobserved } from '../telemetry/observations.ts'
import { untraced } from '../telemetry/tracing.ts'
import { directDoor } from './direct-door.ts'
import type { DirectAnswer, DirectCall } from './direct-door.ts'
import { listen } from './http-listener.ts'
import type { HttpListener } from './http-listener.ts'
import { CONNECTION_LIMITS } from './pipeline/limits.ts'

let listener: HttpListener
let handle: (call: DirectCall<'POST' | 'GET'>) => Promise<DirectAnswer>
let seen: unknown[]
let lines: string[]

const whole = (said: string): DirectAnswer => ({ status: 200, headers: { 'content-type': 'text/plain' }, text: said })

beforeEach(async () => {
  ;[seen, lines] = [[], []]
  handle = async (call) => whole(`${call.method} ${call.url} ${(await call.jsonBody(10)).bytes.toString()}`)
  const door = directDoor({
    path: '/there/{name}',
    methods: ['POST', 'GET'],
    handle: (call) => handle(call),
    async authenticate({ authorization }) {
      if (authorization !== 'Bearer good') throw new HoldfastError('unauthorized', 'no key')
      return { tenantId: 'tnt_1', subject: 'one', keyId: 'key_1' } as Principal
    },
    callerOf: async () => ({}) as Caller,
    admit: () => seen.push('admitted'),
    clientAddress: () => '127.0.0.1',
    checkHost: hostCheck('127.0.0.1'),
    allowedOrigins: new Set(['https://allowed.example']),
    log: createLog({ level: 'debug', format: 'json' }, (line) => lines.push(line)),
    observer: { ...unobserved, tracing: untraced, requestAnswered: (...answered) => void seen.push(answered.slice(0, 3)) },
  })
  listener = await listen(
    () => new Response('elsewhere'),
    (_request, socket) => socket.destroy(),
    '127.0.0.1',
    0,
    (request, answer) => {
      if (request.url?.startsWith('/there/') !== true) return false
      door(request, answer)
      return true
    },
    { ...CONNECTION_LIMITS, discardMs: 500 },
  )
})

afterEach(() => listener.close())

const ask = (more: Omit<RequestInit, 'headers'> & { readonly path?: string; readonly headers?: Record<string, string> } = {}) =>
  fetch(`http://127.0.0.1:${listener.port}${more.path ?? '/there/a?b=c'}`, {
    method: 'POST',
    ...more,
    headers: { authorization: 'Bearer good', ...more.headers },
  })

test('what it is asked reaches its handler, and is counted by its template', async () => {
  const response = await ask({ body: 'hello' })
  expect([response.status, await response.text()]).toEqual([200, 'POST /there/a?b=c hello'])
  expect(seen).toEqual(['admitted', ['/there/{name}', 'POST', 200]])
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ event: 'request-answered', route: '/there/{name}', status: 200, key: 'key_1' })
  expect(lines.join('')).not.toMatch(/hello|good|b=c/)
})

test('other addresses are not its own', async () => {
  expect(await (await ask({ path: '/elsewhere' })).text()).toBe('elsewhere')
})

test('refusals are documents with a request id, in the order of the REST door', async () => {
  const cases = [
    [{ method: 'PATCH', headers: { authorization: 'Bearer bad', origin: 'https://evil.example' } }, 403, 'origin_refused'],
    [{ method: 'PATCH', headers: { authorization: 'Bearer bad' } }, 401, 'unauthorized'],
    [{ method: 'PATCH' }, 405, 'method_not_allowed'],
    [{ body: 'more than ten bytes' }, 413, 'payload_too_large'],
  ] as const
  for (const [more, status, code] of cases) {
    const response = await ask(more)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect([response.status, await response.json()]).toEqual([
      status,
      expect.objectContaining({ code, request_id: response.headers.get('x-request-id') }),
    ])
    expect(response.headers.get('allow')).toBe(status === 405 ? 'POST, GET' : null)
  }
})

test('a bug is a bare 500', async () => {
  handle = () => Promise.reject(new Error('secret words'))
  const response = await ask()
  expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining('secret')])
})

test('pages that the operator named may use it, and ask before', async () => {
  const origin = 'https://allowed.example'
  const before = await ask({ method: 'OPTIONS', headers: { authorization: '', origin, 'access-control-request-method': 'POST' } })
  expect([before.status, before.headers.get('access-control-allow-origin')]).toEqual([204, origin])
  const response = await ask({ headers: { origin } })
  expect(response.headers.get('access-control-allow-origin')).toBe(origin)
})

async function rawly(...words: readonly string[]): Promise<Socket> {
  const socket = connect(listener.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(['POST /there/a HTTP/1.1', 'Host: 127.0.0.1', ...words].join('\r\n'))
  return socket
}

test('who goes on sending what nobody reads is cut, after the answer', async () => {
  const socket = await rawly('Content-Length: 100000000', '', 'abc')
  const dripping = setInterval(() => socket.write('abc'), 20)
  const cut = Promise.withResolvers<void>()
  socket.on('error', () => undefined).on('close', cut.resolve)
  try {
    const [first] = (await once(socket, 'data')) as [Buffer]
    expect(first.toString()).toContain('401')
    await cut.promise
  } finally {
    clearInterval(dripping)
  }
})

test('what says that it is too large is refused before it is sent', async () => {
  const socket = await rawly('Authorization: Bearer good', 'Content-Length: 11', '', '')
  const [first] = (await once(socket, 'data')) as [Buffer]
  expect(first.toString()).toContain('413')
  socket.destroy()
})

test('a body that breaks off is never taken for whole', async () => {
  const failed = Promise.withResolvers<unknown>()
  handle = (call) =>
    call.jsonBody(1_000).then(
      () => whole(''),
      (error: unknown) => {
        failed.resolve(error)
        throw error
      },
    )
  const socket = await rawly('Authorization: Bearer good', 'Content-Length: 10', '', 'abc')
  socket.destroy()
  expect(await failed.promise).toMatchObject({ code: 'request_cancelled' })
})

test('whoever leaves is known to have left, and whoever was answered is not', async () => {
  const came = Promise.withResolvers<AbortSignal>()
  handle = (call) => {
    came.resolve(call.signal)
    return new Promise(() => undefined)
  }
  const socket = await rawly('Authorization: Bearer good', '', '')
  const signal = await came.promise
  const left = once(signal, 'abort')
  socket.destroy()
  await left
  let answered: AbortSignal | null = null
  handle = async (call) => {
    answered = call.signal
    return whole('done')
  }
  await (await ask({ headers: { connection: 'close' } })).text()
  expect(answered).toMatchObject({ aborted: false })
})

test('what breaks because its client left is no failure of the server', async () => {
  const broken = Promise.withResolvers<void>()
  handle = async ({ signal }) => {
    came.resolve()
    await once(signal, 'abort')
    broken.resolve()
    throw new Error('nobody is there')
  }
  const came = Promise.withResolvers<void>()
  const socket = await rawly('Authorization: Bearer good', '', '')
  await came.promise
  socket.destroy()
  await broken.promise
  await expect.poll(() => lines.join('')).toContain('request-answered')
  expect(lines.join('')).not.toContain('request-failed')
})

test('an answer that goes on is sent as it comes', async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  handle = async () => new Response(readable, { headers: { 'content-type': 'text/event-stream' } })
  const response = await ask({ method: 'GET' })
  const writer = writable.getWriter()
  await writer.write(new TextEncoder().encode('first'))
  const reader = response.body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('first')
  await writer.close()
  expect((await reader?.read())?.done).toBe(true)
})
