/** Bodies of requests: bytes as they come, a text up to its limit, and nobody who stops sending is waited for. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { byteBody, readBody, wholeBody } from './request-body.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const requestOf = (body: ReadableStream<Uint8Array> | null, headers: Record<string, string> = {}) =>
  new Request('http://localhost/', { method: 'PUT', body, headers, duplex: 'half' })
const SMALL = { 'content-length': '3' }
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'fine',
    (error: { code?: string }) => error.code,
  )
const readAll = async (request: Request) => {
  const pieces: Uint8Array[] = []
  for await (const piece of byteBody(request)) pieces.push(piece)
  return Buffer.concat(pieces)
}

test('bytes are asked for one piece at a time, and given as they are', async () => {
  let asked = 0
  const source = new ReadableStream<Uint8Array>(
    { pull: (controller) => (asked < 5 ? controller.enqueue(new Uint8Array([asked++, 0xff])) : controller.close()) },
    { highWaterMark: 0 },
  )
  const body = byteBody(requestOf(source))
  expect(asked).toBe(0)
  expect((await body.next()).value).toEqual(new Uint8Array([0, 0xff]))
  expect(asked).toBeLessThanOrEqual(2)
  let pieces = 1
  for await (const _ of body) pieces += 1
  expect(pieces).toBe(5)
})

test('no body is no bytes', async () => {
  expect(await readAll(requestOf(null))).toHaveLength(0)
  expect(await readAll(requestOf(null, SMALL))).toHaveLength(0)
})

test('a body that says it is small is given whole', async () => {
  const body = byteBody(requestOf(ReadableStream.from([new Uint8Array([1]), new Uint8Array([2, 3])]), SMALL))
  expect((await body.next()).value).toEqual(new Uint8Array([1, 2, 3]))
  expect((await body.next()).done).toBe(true)
})

test.each([{}, SMALL])('a body that breaks off is never taken for whole (%o)', async (headers) => {
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new Uint8Array(3))
      controller.error(new Error('the connection is gone'))
    },
  })
  expect(await codeOf(readAll(requestOf(source, headers)))).toBe('request_cancelled')
})

test('whoever stops sending is sent away after a minute', async () => {
  const silent = () => new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(3)) })
  const outcomes = [
    codeOf(readAll(requestOf(silent()))),
    codeOf(readAll(requestOf(silent(), SMALL))),
    codeOf(readBody(requestOf(silent()), 10)),
  ]
  await vi.advanceTimersByTimeAsync(59_000)
  await expect(Promise.race([...outcomes, Promise.resolve('waits')])).resolves.toBe('waits')
  await vi.advanceTimersByTimeAsync(1_001)
  expect(await Promise.all(outcomes)).toEqual(['request_stalled', 'request_stalled', 'request_stalled'])
  expect(vi.getTimerCount()).toBe(0)
})

test('whoever sends a text drop by drop is sent away too, and one that is too large at once', async () => {
  const dripping = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await vi.advanceTimersByTimeAsync(10_000)
      controller.enqueue(new Uint8Array(1))
    },
  })
  expect(await codeOf(wholeBody(byteBody(requestOf(dripping)), 1_000))).toBe('request_stalled')
  const large = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(400)) })
  expect(await codeOf(wholeBody(byteBody(requestOf(large)), 1_000))).toBe('payload_too_large')
})

test('a slow taker is no slow sender', async () => {
  const source = ReadableStream.from([new Uint8Array(1), new Uint8Array(1)])
  const body = byteBody(requestOf(source))
  await body.next()
  await vi.advanceTimersByTimeAsync(600_000)
  expect((await body.next()).done).toBe(false)
})
