/** How often the disk is troubled with what a program says. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { OutputWriter, PAUSE_MS } from './output-writer.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function writing() {
  const sizes: number[] = []
  const someone = { follows: false }
  const files = { write: async (bytes: Uint8Array) => void sizes.push(bytes.length), close: async () => undefined }
  const ignore = () => undefined
  const writer = new OutputWriter({ files, seq: 0, startTime: 0, isFollowed: () => someone.follows, onWritten: ignore, onTrouble: ignore })
  let seq = 0
  /** Long after the line before, as a disk sees it: whatever can happen without time passing has happened. */
  const say = async (bytes: Buffer) => {
    seq += bytes.length
    writer.append({ channel: 'stdout', bytes, seq, at: 0 })
    await vi.advanceTimersByTimeAsync(0)
  }
  return { writer, sizes, someone, say }
}

const LINE = Buffer.from('a line\n')
const LOUD = Buffer.alloc(100_000)

test('what is said line by line goes to the disk together', async () => {
  const { sizes, say } = writing()
  for (let line = 0; line < 100; line += 1) await say(LINE)
  expect(sizes).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(PAUSE_MS)
  expect(sizes).toHaveLength(2)
})

test('whoever follows has each line at once, also one who comes in a pause', async () => {
  const { writer, sizes, someone, say } = writing()
  for (let line = 0; line < 3; line += 1) await say(LINE)
  expect(sizes).toHaveLength(1)
  someone.follows = true
  writer.hurry()
  await vi.advanceTimersByTimeAsync(0)
  expect(sizes).toHaveLength(2)
  for (let line = 0; line < 10; line += 1) await say(LINE)
  expect(sizes).toHaveLength(12)
})

test('a loud program is written in large pieces, whoever follows', async () => {
  const { writer, sizes, someone, say } = writing()
  someone.follows = true
  for (let piece = 0; piece < 5; piece += 1) await say(LOUD)
  writer.hurry()
  await vi.advanceTimersByTimeAsync(0)
  expect(sizes).toHaveLength(1)
})

test('whoever reads waits for no pause', async () => {
  const { writer, sizes, say } = writing()
  for (let line = 0; line < 3; line += 1) await say(LINE)
  await writer.flush()
  expect([sizes.length, writer.isCaughtUp]).toEqual([2, true])
})
