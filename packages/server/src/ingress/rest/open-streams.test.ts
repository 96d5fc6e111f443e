/** A stream counts as open until it ends or its reader leaves, and is counted down once, however it goes. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { followedStream, openEventStream } from './event-stream.ts'
import { problemDocument } from './problems.ts'
import type { Visit } from './route.ts'

function counted() {
  const counts = { open: 0, opened: 0 }
  const visit: Visit = {
    ...{ requestId: 'req_1', signal: new AbortController().signal, isHead: false, header: () => undefined, recheck: async () => {} },
    problemOf: (error) => problemDocument(error, 'req_1'),
    streamOpened() {
      counts.opened += 1
      counts.open += 1
      return () => void (counts.open -= 1)
    },
  }
  return { counts, visit }
}

test('one that the server ends', async () => {
  const { counts, visit } = counted()
  const stream = openEventStream(visit)
  expect(counts).toEqual({ open: 1, opened: 1 })
  const text = stream.response.text()
  await stream.send({ event: 'one', data: {} })
  await stream.end()
  await stream.end()
  await text
  expect(counts).toEqual({ open: 0, opened: 1 })
})

test('one whose reader leaves, and which the server ends afterwards', async () => {
  const { counts, visit } = counted()
  const stream = openEventStream(visit)
  const left = new Promise((resolve) => stream.left.addEventListener('abort', resolve))
  await stream.response.body?.cancel()
  await left
  expect(counts).toEqual({ open: 0, opened: 1 })
  await stream.end()
  expect(counts).toEqual({ open: 0, opened: 1 })
})

test('one that fails', async () => {
  const { counts, visit } = counted()
  const response = followedStream(visit, () => Promise.reject(new HoldfastError('sandbox_gone', 'gone')))
  expect(await response.text()).toContain('event: error')
  expect(counts).toEqual({ open: 0, opened: 1 })
})
