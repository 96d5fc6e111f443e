/** Proofs of the output queue: nothing is lost or reordered, and nothing keeps a chunk alive. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { OutputQueue } from './output-queue.ts'
import type { OutputChannel } from './output-queue.ts'

/** Per byte: channel and value, so that any cutting into chunks compares equal. */
function trace(channel: OutputChannel, bytes: Buffer): string {
  return [...bytes].map((byte) => `${channel}:${byte}`).join(' ')
}

const push = fc.record({
  channel: fc.constantFrom<OutputChannel>(1, 2),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 50 }),
  /** Of the chunk it is a slice of. */
  chunkBytes: fc.constantFrom(50, 100, 60_000),
})

test('bytes come out in order and on their channel, however pushes and shifts interleave', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(push, fc.constant('shift' as const)), { maxLength: 200 }), (steps) => {
      const queue = new OutputQueue()
      const pushed: string[] = []
      const shifted: string[] = []
      const shift = (): void => {
        const { channel, bytes } = queue.shift()
        shifted.push(trace(channel, bytes))
      }
      for (const step of steps) {
        if (step === 'shift') {
          if (!queue.isEmpty) shift()
          continue
        }
        const chunk = Buffer.allocUnsafeSlow(Math.max(step.chunkBytes, step.bytes.length))
        chunk.set(step.bytes)
        const slice = chunk.subarray(0, step.bytes.length)
        pushed.push(trace(step.channel, slice))
        queue.push(step.channel, slice)
      }
      while (!queue.isEmpty) shift()
      expect(shifted.join(' ')).toBe(pushed.join(' '))
    }),
  )
})

test('the chunk may be reused at once: what is kept is a copy', () => {
  const queue = new OutputQueue()
  const chunk = Buffer.alloc(100_000, 'a')
  queue.push(1, chunk)
  chunk.fill('b')
  let kept = ''
  while (!queue.isEmpty) kept += queue.shift().bytes.toString()
  expect(kept).toBe('a'.repeat(100_000))
})

test('a window of single bytes of alternating channels costs little more than itself', () => {
  const queue = new OutputQueue()
  const chunk = Buffer.allocUnsafeSlow(65_536)
  const before = process.memoryUsage()
  for (let index = 0; index < 524_288; index += 1) queue.push(index % 2 === 0 ? 1 : 2, chunk.subarray(0, 1))
  const after = process.memoryUsage()
  // Kept by reference it would be 32 GiB; as one object per byte about 50 MB.
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(4_000_000)
  expect(queue.isEmpty).toBe(false)
})
