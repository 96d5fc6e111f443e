/** A managed process's output: nothing lost, nothing twice, memory bounded, whoever comes and goes. */
import { expect, test, vi } from 'vitest'
import type { OutputChunk } from '../../guest/inside.ts'
import { ProcessOutput } from './process-output.ts'

function feeder(output: ProcessOutput) {
  let seq = 0
  return (text: string | Buffer, channel: OutputChunk['channel'] = 'stdout') => {
    const bytes = Buffer.from(text)
    seq += bytes.length
    return output.take({ channel, bytes, seq })
  }
}

const never = new AbortController().signal
const nextText = async (output: ProcessOutput) => (await output.next(never))?.toString() ?? null

test('lines wait for whoever comes, and what was not confirmed goes to the next one', async () => {
  const output = new ProcessOutput()
  const feed = feeder(output)
  await feed('one\ntwo\nthr')
  output.watch()
  expect(await nextText(output)).toBe('one\n')
  expect(await nextText(output)).toBe('two\n')
  output.confirm()
  expect(output.takenSeq).toBe(4)
  output.unwatch()
  await feed('ee\n')
  output.watch()
  expect(await nextText(output)).toBe('two\n')
  expect(await nextText(output)).toBe('three\n')
})

test('a process that nobody reads is held up, and goes on when somebody does', async () => {
  const output = new ProcessOutput()
  const feed = feeder(output)
  const line = `${'x'.repeat(65_535)}\n`
  let held: void | Promise<void> = undefined
  let fed = 0
  for (; held === undefined; fed += 1) held = feed(line)
  expect(fed).toBeLessThan(20)
  let isOn = false
  void held.then(() => (isOn = true))
  output.watch()
  for (let taken = 0; taken < fed; taken += 1) {
    output.sent((await output.next(never))?.length ?? 0)
    output.confirm()
  }
  await held
  expect(isOn).toBe(true)
})

test('so is one of very many short lines, which weigh more than their bytes', () => {
  const output = new ProcessOutput()
  expect(feeder(output)('x\n'.repeat(5_000))).toBeInstanceOf(Promise)
})

test('a line of a MiB becomes whole though it is more than may wait', () => {
  const output = new ProcessOutput()
  const feed = feeder(output)
  for (let piece = 0; piece < 16; piece += 1) expect(feed('x'.repeat(65_536 - (piece === 15 ? 1 : 0)))).toBe(undefined)
})

test('a line that does not end is shown after a quiet moment, while somebody is there', async () => {
  vi.useFakeTimers()
  try {
    const output = new ProcessOutput()
    const feed = feeder(output)
    await feed('prompt> ')
    await vi.advanceTimersByTimeAsync(10_000)
    output.watch()
    const next = nextText(output)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await next).toBe('prompt> ')
    await feed(Buffer.from('ü').subarray(0, 1))
    await vi.advanceTimersByTimeAsync(1_000)
    const whole = nextText(output)
    await feed(Buffer.from('ü').subarray(1))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await whole).toBe('ü')
  } finally {
    vi.useRealTimers()
  }
})

test('the silence of a process that is held up is none', async () => {
  vi.useFakeTimers()
  try {
    const output = new ProcessOutput()
    const feed = feeder(output)
    output.watch()
    const held = feed(`${`${'x'.repeat(799_999)}\n`.repeat(3)}the beginning`)
    await vi.advanceTimersByTimeAsync(10_000)
    for (let line = 0; line < 3; line += 1) {
      expect(await nextText(output)).toHaveLength(800_000)
      output.sent(800_000)
      output.confirm()
    }
    await held
    await feed(' and the end\n')
    expect(await nextText(output)).toBe('the beginning and the end\n')
  } finally {
    vi.useRealTimers()
  }
})

test('what was printed before comes before what is printed meanwhile', async () => {
  const output = new ProcessOutput(3)
  const gate = Promise.withResolvers<void>()
  async function* earlier() {
    await gate.promise
    yield { channel: 'stdout', bytes: Buffer.from('old'), seq: 6 } as const
    yield { channel: 'stdout', bytes: Buffer.from('er\n'), seq: 9 } as const
  }
  const caughtUp = output.catchUp(earlier())
  const taken = output.take({ channel: 'stdout', bytes: Buffer.from('newer\n'), seq: 15 })
  output.end()
  gate.resolve()
  await caughtUp
  await taken
  output.watch()
  expect([await nextText(output), await nextText(output), await nextText(output)]).toEqual(['older\n', 'newer\n', null])
})

test('what was taken before a restart and comes again is left out, to the byte', async () => {
  const output = new ProcessOutput(6)
  const feed = feeder(output)
  await feed('one\n')
  await feed('tw')
  await feed('o\nthree\n')
  output.watch()
  expect([await nextText(output), await nextText(output)]).toEqual(['o\n', 'three\n'])
  const behind = new ProcessOutput(6)
  await feeder(behind)('one\ntwo\n')
  behind.watch()
  expect(await nextText(behind)).toBe('o\n')
})

test('the end gives the rest, and then nothing', async () => {
  const output = new ProcessOutput()
  await feeder(output)('last words')
  output.end()
  output.watch()
  expect(await nextText(output)).toBe('last words')
  expect(await nextText(output)).toBe(null)
})

test('item 10: of complaints the last 4000 characters stay, however large their pieces are', async () => {
  const output = new ProcessOutput()
  const feed = feeder(output)
  await feed('early\n', 'stderr')
  await feed(`${'y'.repeat(9000)}the end`, 'stderr')
  expect(output.stderr).toHaveLength(4000)
  expect(output.stderr.endsWith('yyythe end')).toBe(true)
  // Neither do they wait for anybody.
  for (let piece = 0; piece < 100; piece += 1) expect(feed('z'.repeat(65_536), 'stderr')).toBe(undefined)
})
