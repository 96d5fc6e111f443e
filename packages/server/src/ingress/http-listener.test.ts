/** Connections that do not send a request, and headers that two readers could understand differently. */
import { on, once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { listen } from './http-listener.ts'
import { CONNECTION_LIMITS } from './pipeline/limits.ts'
import type { ConnectionLimits } from './pipeline/limits.ts'

async function listening(limits: Partial<ConnectionLimits> = {}) {
  const answer = async (request: Request) => new Response(`${(await request.text()).length} bytes`)
  const listener = await listen(answer, (_request, socket) => socket.end('upgraded'), '127.0.0.1', 0, undefined, {
    ...CONNECTION_LIMITS,
    ...limits,
  })
  return {
    async open(bytes = ''): Promise<Socket> {
      const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined)
      await once(socket, 'connect')
      if (bytes !== '') socket.write(bytes)
      return socket
    },
    [Symbol.asyncDispose]: () => listener.close(),
  }
}

/** Long enough for a busy machine to send a header. */
const SHORT_MS = 2_000

const isClosed = (socket: Socket) => (socket.closed ? Promise.resolve() : once(socket.resume(), 'close'))

test('closes connections that send nothing, or half a header, after the timeout', async () => {
  await using server = await listening({ headerTimeoutMs: SHORT_MS })
  const kept = await server.open('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(kept, 'data')
  kept.write('GET / HTTP/1.1\r\nHo')
  await Promise.all([isClosed(await server.open()), isClosed(await server.open('GET / HTTP/1.1\r\nHost:')), isClosed(kept)])
})

test('does not end an upload that takes longer than the timeout for headers', async () => {
  await using server = await listening({ headerTimeoutMs: SHORT_MS })
  const socket = await server.open('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\na')
  const answered = text(socket)
  // Younger than the upload, and closed before it.
  await isClosed(await server.open('GET'))
  socket.write('a')
  expect(await answered).toMatch(/^HTTP\/1\.1 200 [^]*2 bytes/)
})

test('keeps idle connections longer than clients and proxies do, so that none is closed while it is reused', async () => {
  await using server = await listening()
  const socket = await server.open('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(String((await once(socket, 'data'))[0])).toMatch(/^Keep-Alive: timeout=75\r$/im)
})

test('closes the oldest idle connection when there are too many, and no new one for them', async () => {
  await using server = await listening({ incomplete: 2 })
  const fresh = await server.open()
  const idle: Socket[] = []
  for (let count = 0; count < 3; count += 1) {
    const socket = await server.open('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'data')
    idle.push(socket)
  }
  await isClosed(idle[0] ?? fresh)
  expect(idle.slice(1).map(({ closed }) => closed)).toEqual([false, false])
  fresh.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(String((await once(fresh, 'data'))[0])).toContain('200 OK')
})

test('closes the oldest connection without a complete header when there are too many', async () => {
  await using server = await listening({ incomplete: 2 })
  const complete = await server.open('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n')
  const idle = await server.open('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(idle, 'data')
  const half = [await server.open('GET'), await server.open(), await server.open('GET')]
  await isClosed(half[0] ?? complete)
  expect(half.slice(1).map(({ closed }) => closed)).toEqual([false, false])
  complete.write('a')
  expect(String((await once(complete, 'data'))[0])).toContain('200 OK')
  idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(String((await once(idle, 'data'))[0])).toContain('200 OK')
})

test.each([
  ['a request', ''],
  ['an upgrade', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
])('refuses %s with two Host headers', async (_what, more) => {
  await using server = await listening()
  const socket = await server.open(`GET /mcp/one HTTP/1.1\r\nHost: a\r\nhost: b\r\n${more}\r\n`)
  const said = await text(socket)
  expect(said).toMatch(/^HTTP\/1\.1 400 /)
  expect(said).toContain('application/problem+json')
  expect(said).toContain('Host: is given more than once')
})

/** Refuses every request at once, without a look at its body. */
async function refusing(limits: Partial<ConnectionLimits> = {}) {
  const listener = await listen(
    () => new Response('elsewhere'),
    (_request, socket) => socket.destroy(),
    '127.0.0.1',
    0,
    (_request, answer) => {
      answer.writeHead(429, { 'content-length': 0 }).end()
      return true
    },
    { ...CONNECTION_LIMITS, ...limits },
  )
  const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined)
  const begin = (bytes: number) => socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`)
  return { socket, begin, port: listener.port, [Symbol.asyncDispose]: () => listener.close() }
}

test('discards the body of a request that was answered without it, and takes the next request', async () => {
  await using server = await refusing()
  const { socket, begin } = server
  const body = Buffer.alloc(8 * 1024 * 1024)
  begin(body.length)
  // Resolves when all of it is with the kernel, so the server must have read most of it.
  await new Promise((resolve) => void socket.write(body, resolve))
  begin(0)
  const answers = on(socket, 'data')
  let said = ''
  for await (const [bytes] of answers) {
    said += String(bytes)
    if (said.split('429').length === 3) break
  }
  socket.destroy()
})

test('does not take the body of a refused request for half a header', async () => {
  await using server = await refusing({ incomplete: 2 })
  const { socket, begin, port } = server
  begin(2)
  expect(String((await once(socket, 'data'))[0])).toContain('429')
  socket.write('a')
  const half = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  for (const each of half) each.write('GET')
  await Promise.all(half.slice(0, 2).map(isClosed))
  socket.write('b')
  begin(0)
  expect(String((await once(socket, 'data'))[0])).toContain('429')
  for (const each of [socket, ...half]) each.destroy()
})

test('cuts a connection whose refused body does not end', async () => {
  await using server = await refusing({ discardMs: 500 })
  server.begin(1_000)
  await isClosed(server.socket)
})
