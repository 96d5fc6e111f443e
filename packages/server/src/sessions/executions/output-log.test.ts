/** What is kept of an execution's output, and that a reader is told exactly what is not. */
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OutputChunk } from '../../guest/inside.ts'
import { createOutputLog, openStoredOutput, reopenOutputLog } from './output-log.ts'
import type { OutputLog, OutputPage, StoredOutput } from './output-log.ts'
import { FILE_BYTES, OutputFileReader, OutputFileWriter } from './output-files.ts'
import { fileHeader, framedBytes, parseRecords, RECORD_HEADER_BYTES, RecordBuffer } from './output-record.ts'

const PRINTED = Buffer.alloc(6 * FILE_BYTES, 0)
for (let at = 0; at < PRINTED.length; at += 4) PRINTED.writeUInt32LE(Math.imul(at, 2_654_435_761) >>> 0, at)

/** Everything printed is a piece of PRINTED at the place of its sequence number, so that each byte is checkable alone. */
function piece(start: number, length: number, channel: OutputChunk['channel'] = 'stdout'): OutputChunk {
  return { channel, bytes: PRINTED.subarray(start, start + length), seq: start + length }
}

/** The page is truthful: its numbers add up, and every byte is the one that was printed there. Gives the bytes per position. */
function checkPage({ chunks, skippedBytes, seq }: OutputPage, after: number): void {
  let at = after
  let gaps = 0
  for (const chunk of chunks) {
    const start = chunk.seq - chunk.bytes.length
    expect(start).toBeGreaterThanOrEqual(at)
    expect(chunk.bytes.equals(PRINTED.subarray(start, chunk.seq))).toBe(true)
    gaps += start - at
    at = chunk.seq
  }
  expect(skippedBytes).toBe(gaps + seq - at)
}

const bytesOf = ({ chunks }: { readonly chunks: readonly OutputChunk[] }) => chunks.reduce((sum, { bytes }) => sum + bytes.length, 0)

const START = Date.UTC(2026, 0, 1)

let directory: string
let ids = 0
let troubles: unknown[] = []
let now = 0
const place = () => ({
  directory,
  id: `exe_${(ids += 1)}`,
  startTime: START,
  clock: () => now,
  onTrouble: (error: unknown) => troubles.push(error),
})

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-output-'))
  troubles = []
  now = START
})
afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

interface Step {
  readonly gap: number
  readonly length: number
  readonly channel: OutputChunk['channel']
}

const anyChannel = fc.constantFrom('stdout' as const, 'stderr' as const)
const stepsOf = (maxLength: number, maxSteps: number) =>
  fc.array(
    fc.record({
      gap: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.nat(5_000)),
      length: fc.integer({ min: 1, max: maxLength }),
      channel: anyChannel,
    }),
    { maxLength: maxSteps },
  )
const anySteps = fc.oneof(stepsOf(300, 40), stepsOf(4_000, 40), stepsOf(65_536, 60))

/** Appends the steps; gives the kept positions of the model: the bytes that were really appended. */
async function play(log: OutputLog, steps: readonly Step[]): Promise<readonly OutputChunk[]> {
  const appended: OutputChunk[] = []
  for (const { gap, length, channel } of steps) {
    const chunk = piece(log.seq + gap, length, channel)
    log.append(chunk)
    // Sometimes the disk gets its turn.
    if (length % 3 === 0) await new Promise(setImmediate)
    appended.push(chunk)
  }
  return appended
}

/** The bytes of each channel, position by position, that the model has after a number. */
function expected(appended: readonly OutputChunk[], after: number): string {
  return describeBytes(appended.map((chunk) => cut(chunk, after)).filter(({ bytes }) => bytes.length > 0))
}

function cut({ channel, bytes, seq }: OutputChunk, after: number): OutputChunk {
  return { channel, bytes: bytes.subarray(Math.min(bytes.length, Math.max(0, after - (seq - bytes.length)))), seq }
}

/** Chunks that touch and have one channel are one: where they are cut means nothing. */
function describeBytes(chunks: readonly OutputChunk[]): string {
  const runs: { channel: string; start: number; end: number }[] = []
  for (const { channel, bytes, seq } of chunks) {
    const last = runs.at(-1)
    if (last?.channel === channel && last.end === seq - bytes.length) last.end = seq
    else runs.push({ channel, start: seq - bytes.length, end: seq })
  }
  return runs.map(({ channel, start, end }) => `${channel} ${start}-${end}`).join('\n')
}

/** Exactly the suffix that is kept, however the output is read, and at least the last FILE_BYTES of it with their framing. */
async function checkReading(output: StoredOutput, appended: readonly OutputChunk[], after: number, limitBytes: number): Promise<void> {
  const whole = await output.read(0)
  checkPage(whole, 0)
  expect(whole.seq).toBe(output.seq)
  const first = whole.chunks[0]
  const keptFrom = first === undefined ? output.seq : first.seq - first.bytes.length
  expect(describeBytes(whole.chunks)).toBe(expected(appended, keptFrom))
  const keptFramed = appended.filter(({ seq }) => seq > keptFrom).reduce((sum, { bytes }) => sum + bytes.length + RECORD_HEADER_BYTES, 0)
  const isComplete = expected(appended, 0) === describeBytes(whole.chunks)
  expect(isComplete || keptFramed >= FILE_BYTES - 8).toBe(true)

  const suffix = await output.read(after)
  checkPage(suffix, after)
  expect(describeBytes(suffix.chunks)).toBe(expected(appended, Math.max(after, keptFrom)))

  const limited = await output.read(after, limitBytes)
  checkPage(limited, after)
  expect(bytesOf(limited)).toBe(Math.min(limitBytes, bytesOf(suffix)))
}

describe('a running log', () => {
  test('gives after any number exactly the suffix that is kept, then the same from what is stored', async () => {
    await fc.assert(
      fc.asyncProperty(
        anySteps,
        fc.double({ min: 0, max: 1.1, noNaN: true }),
        fc.integer({ min: 1, max: 100_000 }),
        async (steps, at, limitBytes) => {
          const needs = place()
          const log = createOutputLog(needs)
          const appended = await play(log, steps)
          const after = Math.floor(log.seq * at)
          await checkReading(log, appended, after, limitBytes)
          const blob = await log.close()
          await checkReading(log, appended, after, limitBytes)
          await checkReading(openStoredOutput({ ...needs, blob, seq: log.seq }), appended, after, limitBytes)
          expect(blob?.length ?? 0).toBeLessThanOrEqual(8_192)
          await log.remove()
          expect(readdirSync(directory)).toEqual([])
        },
      ),
      { numRuns: 40 },
    )
    expect(troubles).toEqual([])
  })

  test('touches no disk for a command that prints little and ends', async () => {
    const needs = { ...place(), directory: '/nowhere/at/all' }
    const log = createOutputLog(needs)
    log.append(piece(0, 4_000))
    log.append(piece(4_000, 4_000, 'stderr'))
    const blob = await log.close()
    expect(troubles).toEqual([])
    const page = await openStoredOutput({ ...needs, blob, seq: 8_000 }).read(0)
    expect(describeBytes(page.chunks)).toBe('stdout 0-4000\nstderr 4000-8000')
  })

  test('writes a small output down when the execution runs on, and still gives it as a blob at the end', async () => {
    const needs = place()
    const log = createOutputLog(needs)
    log.append(piece(0, 10))
    await expect.poll(async () => (await reopened(needs)).chunks).toBe('stdout 0-10')
    log.append(piece(10, 10, 'stderr'))
    const blob = await log.close()
    expect((await reopened(needs)).chunks).toBe('stdout 0-10\nstderr 10-20')
    const page = await openStoredOutput({ ...needs, blob, seq: 20 }).read(0)
    expect(describeBytes(page.chunks)).toBe('stdout 0-10\nstderr 10-20')
    await log.remove()
    expect(readdirSync(directory)).toEqual([])
  })

  test.each([100, 10_000])('keeps nothing twice when a chunk of %i bytes overlaps what is known', async (length) => {
    const needs = place()
    const log = createOutputLog(needs)
    log.append(piece(0, length))
    log.append(piece(length / 2, length))
    log.append(piece(0, length * 1.5))
    expect(describeBytes((await log.read(0)).chunks)).toBe(`stdout 0-${length * 1.5}`)
    const blob = await log.close()
    const stored = openStoredOutput({ ...needs, blob, seq: log.seq })
    expect(describeBytes((await stored.read(0)).chunks)).toBe(`stdout 0-${length * 1.5}`)
    await log.remove()
  })

  test('tells of output that was lost at the end', async () => {
    const needs = place()
    const log = createOutputLog(needs)
    log.append(piece(0, 100))
    log.skipTo(1_000)
    expect(await log.read(50)).toMatchObject({ skippedBytes: 900, seq: 1_000 })
    const blob = await log.close()
    expect(await openStoredOutput({ ...needs, blob, seq: 1_000 }).read(50)).toMatchObject({ skippedBytes: 900, seq: 1_000 })
  })

  test('loses what the disk does not take, says so, and goes on', async () => {
    const needs = { ...place(), directory: join(directory, 'missing') }
    const log = createOutputLog(needs)
    log.append(piece(0, 200_000))
    expect(await log.read(0)).toEqual({ chunks: [], skippedBytes: 200_000, seq: 200_000 })
    expect(troubles.length).toBeGreaterThan(0)
    expect(await log.close()).toBeNull()
  })

  test.each([81, 96])('keeps the last part without a gap when a program prints %i chunks faster than the disk writes', async (count) => {
    const log = createOutputLog(place())
    log.append(piece(0, 65_536))
    expect((await log.read(0)).skippedBytes).toBe(0)
    for (let index = 1; index < count; index += 1) log.append(piece(index * 65_536, 65_536))
    const kept = await log.read(0)
    checkPage(kept, 0)
    expect(kept.chunks.slice(1).every(({ bytes, seq }, index) => seq - bytes.length === kept.chunks[index]?.seq)).toBe(true)
    expect(bytesOf(kept)).toBeGreaterThan(FILE_BYTES - 65_536)
    expect(bytesOf(kept)).toBeLessThan(FILE_BYTES * 4)
    await log.remove()
  })
})

test('the last FILE_BYTES are kept at every moment', async () => {
  const log = createOutputLog(place())
  for (let start = 0; start + 50_000 <= PRINTED.length / 2; start += 50_000) {
    log.append(piece(start, 50_000))
    const kept = await log.read(0)
    checkPage(kept, 0)
    expect(bytesOf(kept)).toBeGreaterThanOrEqual(Math.min(log.seq, FILE_BYTES - 65_536))
  }
  await log.remove()
})

describe('the time of output', () => {
  const timesOf = ({ chunks }: OutputPage) => chunks.map(({ seq, at }) => [seq, at - START])

  test.each([
    ['a row', 10],
    ['files', 9_000],
  ])('is that of its receipt, to a tenth of a second, in %s', async (_, length) => {
    const needs = place()
    const log = createOutputLog(needs)
    const printAt = (ms: number) => {
      now = START + ms
      log.append(piece(log.seq, length))
    }
    for (const ms of [5, 99, 100, 150, 199, 3_600_000]) printAt(ms)
    // Set back by an hour, as an operator may do.
    printAt(200)
    const expectedTimes = [
      [2 * length, 0],
      [5 * length, 100],
      [6 * length, 3_600_000],
      [7 * length, 200],
    ]
    expect(timesOf(await log.read(0))).toEqual(expectedTimes)
    const blob = await log.close()
    expect(blob === null).toBe(length === 9_000)
    expect(timesOf(await openStoredOutput({ ...needs, blob, seq: log.seq }).read(0))).toEqual(expectedTimes)
  })

  test('is known for the oldest that is kept, and for what an earlier server received', async () => {
    const needs = place()
    const log = createOutputLog(needs)
    now = START + 5_000
    for (let start = 0; start < 4 * FILE_BYTES; start += 65_536) {
      log.append(piece(start, 65_536))
      if (start % FILE_BYTES === 0) await log.read(log.seq)
    }
    const kept = await log.read(0)
    expect(kept.skippedBytes).toBeGreaterThan(0)
    expect(new Set(kept.chunks.map(({ at }) => at - START))).toEqual(new Set([5_000]))
    await log.close()
    now = START + 60_000
    const next = await reopenOutputLog(needs)
    next.append(piece(next.seq, 10))
    expect(timesOf(await next.read(next.seq - 20))).toEqual([
      [next.seq - 10, 5_000],
      [next.seq, 60_000],
    ])
    await next.remove()
  })
})

describe('a reader of the files', () => {
  test('misses nothing when a file grows and is followed by the next between two looks', async () => {
    const { directory: real, id } = place()
    const writer = OutputFileWriter.fresh({ directory: real, id })
    await writer.write(framed(piece(0, 10)))
    await writer.close()
    let looks = 0
    const reader = new OutputFileReader(
      {
        id,
        get directory() {
          looks += 1
          // After the look that found the end of the first file, and before the one for the second.
          if (looks === 5) {
            appendFileSync(join(real, `${id}.0`), framed(piece(10, 10)))
            writeFileSync(join(real, `${id}.1`), Buffer.concat([fileHeader(1), framed(piece(20, 10))]))
          }
          return real
        },
      },
      START,
    )
    const seen = [...(await reader.next(0))]
    for (let more = await reader.next(10); more.length > 0; more = await reader.next(more.at(-1)?.seq ?? 0)) seen.push(...more)
    expect(describeBytes(seen)).toBe('stdout 0-30')
    expect(looks).toBeGreaterThan(5)
  })
})

function framed(chunk: OutputChunk, at = START): Buffer {
  const records = new RecordBuffer(START)
  records.append({ ...chunk, at })
  return records.bytes
}

describe('a follower', () => {
  test('gets everything once and in order, from before and from now on, until the log is closed', async () => {
    await fc.assert(
      fc.asyncProperty(anySteps, fc.nat(60), fc.nat(3_000), async (steps, before, after) => {
        const log = createOutputLog(place())
        const appended = [...(await play(log, steps.slice(0, before)))]
        const pages: OutputPage[] = []
        const following = (async () => {
          for await (const page of log.follow(after)) pages.push(page)
        })()
        appended.push(...(await play(log, steps.slice(before))))
        await log.close()
        await following
        let at = after
        for (const page of pages) {
          checkPage(page, at)
          at = page.seq
        }
        expect(at).toBe(Math.max(after, log.seq))
        const kept = pages.flatMap(({ chunks }) => chunks)
        const printed = bytesOf({ chunks: appended.map((chunk) => cut(chunk, after)) })
        expect(printed >= FILE_BYTES / 2 || describeBytes(kept) === expected(appended, after)).toBe(true)
        await log.remove()
      }),
      { numRuns: 40 },
    )
  })

  test('that is slow skips what is gone, is told how much, and slows nobody', async () => {
    const log = createOutputLog(place())
    const follower = log.follow(0)[Symbol.asyncIterator]()
    log.append(piece(0, 10_000))
    const first = await follower.next()
    expect(first.value?.seq).toBe(10_000)
    for (let start = 10_000; start + 60_000 <= PRINTED.length; start += 60_000) log.append(piece(start, 60_000))
    await log.close()
    let at = 10_000
    let skipped = 0
    for (let next = await follower.next(); next.value !== undefined; next = await follower.next()) {
      checkPage(next.value, at)
      skipped += next.value.skippedBytes
      at = next.value.seq
    }
    expect(at).toBe(log.seq)
    expect(skipped).toBeGreaterThan(FILE_BYTES)
    await log.remove()
  })

  test('leaves when its signal fires', async () => {
    const log = createOutputLog(place())
    const leaving = new AbortController()
    const pages: OutputPage[] = []
    log.append(piece(0, 5))
    for await (const page of log.follow(0, leaving.signal)) {
      pages.push(page)
      queueMicrotask(() => leaving.abort())
    }
    expect(pages).toHaveLength(1)
    await log.close()
  })

  test('hears of lost output even when nothing follows it', async () => {
    const log = createOutputLog(place())
    const follower = log.follow(0)[Symbol.asyncIterator]()
    const next = follower.next()
    log.skipTo(77)
    expect((await next).value).toEqual({ chunks: [], skippedBytes: 77, seq: 77 })
    await log.close()
    expect((await follower.next()).done).toBe(true)
  })
})

/** What a server finds after a restart. */
async function reopened(needs: ReturnType<typeof place>): Promise<{ chunks: string; seq: number }> {
  const { chunks, seq } = await openStoredOutput({ ...needs, blob: null, seq: 0x7fff_ffff }).read(0)
  return { chunks: describeBytes(chunks), seq }
}

describe('a log found after a restart', () => {
  test('goes on after its last whole record, wherever the newest file was torn', async () => {
    await fc.assert(
      fc.asyncProperty(anySteps, anySteps, fc.double({ min: 0, max: 1, noNaN: true }), async (steps, more, torn) => {
        const needs = place()
        const before = createOutputLog(needs)
        const appended = await play(before, [{ gap: 0, length: 9_000, channel: 'stdout' }, ...steps])
        await before.close()
        tear(needs, torn)
        const log = await reopenOutputLog(needs)
        expect(log.seq).toBeLessThanOrEqual(before.seq)
        const known = appended.map((chunk) => keepUpTo(chunk, log.seq)).filter(({ bytes }) => bytes.length > 0)
        if (known.length > 0) await checkReading(log, known, Math.floor(log.seq / 2), 1_000)
        const all = [...known, ...(await play(log, more))]
        await checkReading(log, all, Math.floor(log.seq / 2), 1_000)
        const blob = await log.close()
        await checkReading(openStoredOutput({ ...needs, blob, seq: log.seq }), all, 0, 1_000)
        await log.remove()
      }),
      { numRuns: 40 },
    )
  })

  test('takes no torn output for records that a program forged in it', async () => {
    const needs = place()
    const before = createOutputLog(needs)
    before.append(piece(0, 9_000))
    const forged = Buffer.concat(
      Array.from({ length: 1_000 }, (_, index) => framed({ channel: 'stdout', bytes: Buffer.from('!'), seq: 50_000 + index })),
    )
    before.append({ channel: 'stderr', bytes: forged, seq: 9_000 + forged.length })
    await before.close()
    tear(needs, 0.99)
    const log = await reopenOutputLog(needs)
    expect(log.seq).toBe(9_000)
    // As long as one forged record, so that the next one would lie just behind it.
    log.append(piece(9_000, framedBytes(1)))
    await log.close()
    expect((await reopened(needs)).chunks).toBe(`stdout 0-${9_000 + framedBytes(1)}`)
    await log.remove()
  })

  test('is empty when nothing was written down', async () => {
    const log = await reopenOutputLog(place())
    expect(log.seq).toBe(0)
    expect(await log.close()).toEqual(new Uint8Array())
  })
})

/** Cuts a part off the file that was written last, as a crash would. */
function tear({ directory: where, id }: { readonly directory: string; readonly id: string }, part: number): void {
  const newest = [0, 1]
    .map((slot) => join(where, `${id}.${slot}`))
    .filter((path) => existsSync(path))
    .toSorted((a, b) => readFileSync(a).readUInt32LE(4) - readFileSync(b).readUInt32LE(4))
    .at(-1)
  if (newest === undefined) return
  truncateSync(newest, Math.floor(readFileSync(newest).length * part))
}

function keepUpTo({ channel, bytes, seq }: OutputChunk, end: number): OutputChunk {
  const start = seq - bytes.length
  return { channel, bytes: bytes.subarray(0, Math.max(0, end - start)), seq: Math.min(seq, end) }
}

describe('what is stored is not believed', () => {
  test('any bytes as records give whole, growing records within them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { chunks, endOffset, time } = parseRecords(Buffer.from(bytes), 0, 0, START)
        const recordBytes = chunks.reduce((sum, chunk) => sum + chunk.bytes.length + RECORD_HEADER_BYTES, 0)
        // What else was passed over are times, which have a header only.
        expect(endOffset - recordBytes).toBeGreaterThanOrEqual(0)
        expect((endOffset - recordBytes) % RECORD_HEADER_BYTES).toBe(0)
        expect(time === START || endOffset > recordBytes).toBe(true)
        expect(endOffset).toBeLessThanOrEqual(bytes.length)
      }),
    )
  })

  test('records whose numbers go back end the reading', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { minLength: 2, maxLength: 6 }), (numbers) => {
        const bytes = Buffer.concat(numbers.map((number) => framed(piece(number, 3))))
        const { chunks } = parseRecords(bytes, 0, 0, START)
        expect(chunks.every(({ seq }, index) => index === 0 || seq - 3 >= (chunks[index - 1]?.seq ?? 0))).toBe(true)
      }),
    )
  })

  test('a damaged blob is refused or reads as numbers that add up', async () => {
    const log = createOutputLog(place())
    for (let start = 0; start < 50; start += 5) log.append(piece(start, 5, start % 2 === 0 ? 'stdout' : 'stderr'))
    const blob = (await log.close()) ?? new Uint8Array()
    await fc.assert(
      fc.asyncProperty(fc.nat(blob.length - 1), fc.nat(255), fc.nat(blob.length), async (at, value, length) => {
        const damaged = Uint8Array.from(blob.subarray(0, length))
        damaged[at] = value
        const output = openStoredOutput({ ...place(), blob: damaged, seq: 50 })
        const verdict = await output.read(0).then(
          (page) => (page.seq === 50 && page.skippedBytes + bytesOf(page) === 50 ? 'adds up' : 'lies'),
          (error: unknown) => (isHoldfastError(error, 'store_corrupt') ? 'refused' : 'fails'),
        )
        expect(['adds up', 'refused']).toContain(verdict)
      }),
    )
  })

  test('files that are not ours count as lost output', async () => {
    const needs = place()
    writeFileSync(join(directory, `${needs.id}.0`), 'something else altogether')
    expect(await openStoredOutput({ ...needs, blob: null, seq: 10 }).read(0)).toEqual({ chunks: [], skippedBytes: 10, seq: 10 })
    expect((await reopenOutputLog(needs)).seq).toBe(0)
  })
})
