/** A process's stdout as frames: whoever leaves after any of them and comes back at its place has everything once. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OutputChunk } from '../../guest/inside.ts'
import type { StoredOutput } from '../../sessions/executions/output-log.ts'
import { processFrames } from './process-frames.ts'
import type { ProcessFrame } from './process-frames.ts'

type Printed = Pick<OutputChunk, 'channel' | 'bytes'> & { readonly isLost?: boolean }

const never = new AbortController().signal

/** What was printed, as a log that has lost some of it gives it back. */
function logOf(printed: readonly Printed[]): StoredOutput {
  let seq = 0
  const chunks = printed.map((chunk) => ({ ...chunk, seq: (seq += chunk.bytes.length) }))
  return {
    seq,
    async read(after) {
      const kept = chunks.filter((chunk) => chunk.isLost !== true && chunk.seq > after)
      const rest = kept.map(({ channel, bytes, seq: end }) => ({
        ...{ channel, seq: end, at: 0 },
        bytes: bytes.subarray(Math.max(0, after - (end - bytes.length))),
      }))
      return { chunks: rest, skippedBytes: seq - after - rest.reduce((sum, { bytes }) => sum + bytes.length, 0), seq }
    },
    remove: async () => undefined,
  }
}

async function framesAfter(log: StoredOutput, after: number, mode: 'line' | 'raw'): Promise<readonly ProcessFrame[]> {
  const frames: ProcessFrame[] = []
  for await (const frame of processFrames(log, after, mode, never)) frames.push(frame)
  return frames
}

/** As a client counts. */
const placeAfter = (begin: number, frames: readonly ProcessFrame[]) =>
  frames.reduce(
    (place, frame) => ('skippedBytes' in frame ? place + frame.skippedBytes : (frame.endsAt ?? place + frame.bytes.length)),
    begin,
  )
const bytesOf = (frames: readonly ProcessFrame[]) => Buffer.concat(frames.flatMap((frame) => ('bytes' in frame ? [frame.bytes] : [])))
const stdoutOf = (printed: readonly Printed[]) =>
  Buffer.concat(printed.flatMap(({ channel, bytes, isLost }) => (channel === 'stdout' && isLost !== true ? [bytes] : [])))

const piece = fc.array(fc.constantFrom(10, 97, 0xff, 0xc3, 0xbc), { minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes))
const chunk = fc.record({ channel: fc.constantFrom('stdout', 'stderr'), bytes: piece })
const losable = fc.record({ channel: fc.constantFrom('stdout', 'stderr'), bytes: piece, isLost: fc.boolean() })

describe.each(['line', 'raw'] as const)('by %s', (mode) => {
  test('every byte of stdout comes once and as it is, whenever a client leaves and comes back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(chunk, { maxLength: 20 }), fc.array(fc.nat({ max: 5 }), { maxLength: 6 }), async (printed, visits) => {
        const log = logOf(printed)
        const got: Buffer[] = []
        let place = 0
        for (const count of visits) {
          const frames = (await framesAfter(log, place, mode)).slice(0, count)
          got.push(bytesOf(frames))
          place = placeAfter(place, frames)
        }
        got.push(bytesOf(await framesAfter(log, place, mode)))
        expect(Buffer.concat(got).equals(stdoutOf(printed))).toBe(true)
      }),
    )
  })

  test('what is lost is counted, and the rest comes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(losable, { maxLength: 20 }), async (printed) => {
        const frames = await framesAfter(logOf(printed), 0, mode)
        expect(bytesOf(frames).equals(stdoutOf(printed))).toBe(true)
        const lost = printed.reduce((sum, { bytes, isLost }) => sum + (isLost === true ? bytes.length : 0), 0)
        expect(frames.reduce((sum, frame) => sum + ('skippedBytes' in frame ? frame.skippedBytes : 0), 0)).toBe(lost)
      }),
    )
  })
})

test('by line a frame is one line, except where its end is lost or there is none', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 20 }), async (printed) => {
      const lines = (await framesAfter(logOf(printed), 0, 'line')).flatMap((frame) => ('bytes' in frame ? [Buffer.from(frame.bytes)] : []))
      const ends = lines.map((line) => line.indexOf(10) === line.length - 1)
      expect(ends.slice(0, -1).every(Boolean)).toBe(true)
      expect(lines.at(-1)?.subarray(0, -1).includes(10) ?? false).toBe(false)
    }),
  )
})
