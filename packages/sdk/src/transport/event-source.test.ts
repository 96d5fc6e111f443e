/** Server-sent events out of bytes that are cut anywhere. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { serverEvents } from './event-source.ts'
import type { ServerEvent } from './event-source.ts'

const broken = (cause: unknown) => new Error('broken', { cause })

function streamOf(text: string, cuts: readonly number[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((one, other) => one - other)
  return new ReadableStream({
    start(controller) {
      for (const [index, edge] of edges.entries()) controller.enqueue(bytes.subarray(edge, edges[index + 1] ?? bytes.length))
      controller.close()
    },
  })
}

async function read(text: string, cuts: readonly number[] = []): Promise<readonly ServerEvent[]> {
  const events: ServerEvent[] = []
  for await (const event of serverEvents(streamOf(text, cuts), broken)) events.push(event)
  return events
}

test('wherever the bytes are cut, the events are the same', async () => {
  const text =
    'id: 4\nevent: stdout\ndata: {"data":"é€😀","seq":4}\n\n: still here\n\nevent: exit\r\ndata: a\r\ndata: b\r\n\r\nevent: last\ndata: 1\n\n'
  const expected = [
    { id: '4', event: 'stdout', data: '{"data":"é€😀","seq":4}' },
    { id: null, event: 'exit', data: 'a\nb' },
    { id: null, event: 'last', data: '1' },
  ]
  expect(await read(text)).toEqual(expected)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 500 }), { maxLength: 20 }), async (cuts) => {
      expect(await read(text, cuts)).toEqual(expected)
    }),
  )
})

test('an event that was cut off never was', async () => {
  expect(await read('event: a\ndata: 1\n\nevent: exit\ndata: {"exit_code":0}\n')).toEqual([{ id: null, event: 'a', data: '1' }])
})

test('a stream that is silent for too long is broken', async () => {
  let isCancelled = false
  const silent = new ReadableStream<Uint8Array>({ cancel: () => void (isCancelled = true) })
  await expect(serverEvents(silent, broken, 5).next()).rejects.toMatchObject({ cause: { message: 'the stream was silent for 5 ms' } })
  expect(isCancelled).toBe(true)
})

test('who leaves lets go of the stream', async () => {
  let isCancelled = false
  const source = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('event: a\ndata: 1\n\n')),
    cancel: () => void (isCancelled = true),
  })
  for await (const { event } of serverEvents(source, broken)) {
    expect(event).toBe('a')
    break
  }
  expect(isCancelled).toBe(true)
})
