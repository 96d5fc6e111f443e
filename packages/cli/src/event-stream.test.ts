/** Events out of bytes, however they are cut. */
import { expect, test } from 'vitest'
import { serverEvents } from './event-stream.ts'

const TEXT = ': still running\n\nevent: stdout\ndata: {"data":"é"}\n\nevent: exit\ndata: {"a":": b"}\n\n'

test.each([1, 2, 3, 7, 1000])('chunks of %d bytes give the same events', async (size) => {
  const bytes = Buffer.from(TEXT)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size))
      controller.close()
    },
  })
  expect(await Array.fromAsync(serverEvents(body))).toEqual([
    { event: 'stdout', data: '{"data":"é"}' },
    { event: 'exit', data: '{"a":": b"}' },
  ])
})
