/** Streams: what ends them, and what their reader is told. */
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { untilHolds } from '../../../../../test/servers/eventually.ts'
import { readEvents } from './contract/event-reader.ts'
import { followedStream } from './event-stream.ts'
import { problemDocument } from './problems.ts'
import type { Visit } from './route.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const visitOf = (recheck: Visit['recheck'], signal = new AbortController().signal): Visit => ({
  ...{ requestId: 'req_1', signal, header: () => undefined, recheck },
  problemOf: (error) => problemDocument(error, 'req_1'),
})
const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))

test('a key that is not good any more ends a stream, which says why', async () => {
  let isRevoked = false
  const visit = visitOf(async () => {
    if (isRevoked) throw new HoldfastError('unauthorized', 'the API key is not valid')
  })
  const response = followedStream(visit, async (stream, signal) => {
    await stream.send({ id: 7, event: 'one', data: { a: 'x\n\ny' } })
    await untilAborted(signal)
  })
  const reading = readEvents(response)
  await vi.advanceTimersByTimeAsync(60_000)
  isRevoked = true
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await reading).toMatchObject([
    { id: '7', event: 'one', data: { a: 'x\n\ny' } },
    { id: null, event: 'error', data: { code: 'unauthorized' } },
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('a failure is told in-band, and a bug without its cause', async () => {
  const failing = (error: Error) =>
    followedStream(
      visitOf(async () => {}),
      async () => {
        throw error
      },
    )
  expect(await readEvents(failing(new HoldfastError('cursor_expired', 'gone')))).toMatchObject([
    { event: 'error', data: { code: 'cursor_expired' } },
  ])
  const [told] = await readEvents(failing(new Error('a secret')))
  expect(told).toMatchObject({ event: 'error', data: { code: 'internal', request_id: 'req_1' } })
  expect(JSON.stringify(told)).not.toContain('secret')
})

test('a reader who leaves ends what is produced, and no timer is left', async () => {
  let isOver = false
  const response = followedStream(
    visitOf(async () => {}),
    async (stream, signal) => {
      await stream.send({ event: 'one', data: {} })
      await untilAborted(signal)
      isOver = true
    },
  )
  await readEvents(response, 1)
  await untilHolds(() => expect(isOver).toBe(true))
  await untilHolds(() => expect(vi.getTimerCount()).toBe(0))
})

test('a silent stream is kept alive by comments, which are no events', async () => {
  const leaving = new AbortController()
  const response = followedStream(
    visitOf(async () => {}, leaving.signal),
    (_stream, signal) => untilAborted(signal),
  )
  const text = response.text()
  await vi.advanceTimersByTimeAsync(45_000)
  leaving.abort()
  expect((await text).split('\n\n').filter((block) => block.startsWith(':')).length).toBeGreaterThan(0)
})
