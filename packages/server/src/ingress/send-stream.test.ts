/** Answers that are streams, over a real socket: whole, or visibly not. */
import { afterEach, expect, test } from 'vitest'
import { listen } from './http-listener.ts'
import type { HttpListener } from './http-listener.ts'

let listener: HttpListener
afterEach(() => listener.close())

const serve = async (answer: (request: Request) => Response | Promise<Response>) => {
  listener = await listen(
    (request) => answer(request),
    (_request, socket) => socket.destroy(),
    '127.0.0.1',
    0,
  )
  return `http://127.0.0.1:${listener.port}/`
}
const BYTES = { 'content-type': 'application/octet-stream' }
/** The given pieces, then a failure. */
const failing = (pieces: number) => {
  let left = pieces
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(10))
        else controller.error(new Error('the source is gone'))
      },
    },
    { highWaterMark: 0 },
  )
}

test('a stream arrives as it is, with its headers', async () => {
  const url = await serve(() => new Response(ReadableStream.from([Buffer.from('ab'), Buffer.from('c')]), { status: 206, headers: BYTES }))
  const response = await fetch(url)
  expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([206, BYTES['content-type'], 'abc'])
})

test.each([0, 1, 2, 3, 50])('a source that fails after %i pieces cuts the connection, with and without a length', async (pieces) => {
  for (const headers of [BYTES, { ...BYTES, 'content-length': '5000' }]) {
    const url = await serve(() => new Response(failing(pieces), { headers }))
    await expect((async () => (await fetch(url)).arrayBuffer())()).rejects.toThrow(/terminated|fetch failed/)
    await listener.close()
  }
})

test('a reader who leaves ends the source', async () => {
  const left = Promise.withResolvers<void>()
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => left.resolve(),
  })
  const url = await serve(() => new Response(endless, { headers: BYTES }))
  const leaving = new AbortController()
  const response = await fetch(url, { signal: leaving.signal })
  await response.body?.getReader().read()
  leaving.abort()
  await left.promise
})

test('a reader who left before the beginning ends the source too', async () => {
  const asked = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const silent = new ReadableStream<Uint8Array>(
    { pull: () => new Promise(() => undefined), cancel: () => left.resolve() },
    { highWaterMark: 0 },
  )
  const url = await serve(async (request) => {
    request.signal.addEventListener('abort', () => gone.resolve())
    asked.resolve()
    await gone.promise
    return new Response(silent, { headers: BYTES })
  })
  const leaving = new AbortController()
  const answer = fetch(url, { signal: leaving.signal }).catch(() => undefined)
  await asked.promise
  leaving.abort()
  await Promise.all([answer, left.promise])
})

test('a reader who does not read is waited for', async () => {
  let given = 0
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        given += 65_536
        controller.enqueue(new Uint8Array(65_536))
      },
    })
  const url = await serve(() => new Response(endless(), { headers: BYTES }))
  const waiting = await fetch(url)
  // Another reader takes far more than any socket holds, so there was time to run ahead.
  const before = given
  const busy = (await fetch(url)).body?.getReader()
  for (let taken = 0; taken < 64 * 1024 * 1024;) taken += (await busy?.read())?.value?.length ?? 0
  await busy?.cancel()
  expect(given - before).toBeLessThan(64 * 1024 * 1024 + 16 * 1024 * 1024)
  await waiting.body?.cancel()
})
