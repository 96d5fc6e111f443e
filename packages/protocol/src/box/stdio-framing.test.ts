/** Messages on a pipe: whole again whatever the cuts, and broken framing is noticed. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stdioLines, stdioReader } from './stdio-framing.ts'

const MIB = 1024 * 1024
const linesOf = (message: string) => [...stdioLines(message)]
const bytesOf = (...lines: readonly string[]) => Buffer.from(lines.join(''))
const messageWith = (text: string) => JSON.stringify({ seq_id: 1, code: 0, message: 'success', data: { text } })
const helper = (fields: object) => `${JSON.stringify(fields)}\n`

/** What comes out when the bytes come in pieces that end at `cuts`. */
function readInPieces(bytes: Buffer, cuts: readonly number[]): readonly string[] {
  const reader = stdioReader()
  const ends = [...cuts, bytes.length].toSorted((one, other) => one - other)
  return ends.flatMap((end, index) => reader.push(bytes.subarray(ends[index - 1] ?? 0, end)))
}

function failureOf(act: () => unknown): unknown {
  try {
    act()
    return null
  } catch (error) {
    return error instanceof Error ? error.constructor : error
  }
}

describe('a message', () => {
  test('of up to 16384 bytes is one line, a longer one is announced, sliced and ended', () => {
    const short = JSON.stringify('x'.repeat(16_384 - 2))
    expect(linesOf(short)).toEqual([`${short}\n`])
    const long = JSON.stringify({ t: 'x'.repeat(20_000) })
    const lines = linesOf(long).map((line) => JSON.parse(line) as unknown)
    expect(lines).toEqual([
      { type: 'chunk_start', total_size: long.length },
      { type: 'chunk_data', data: long.slice(0, 16_384), offset: 0 },
      { type: 'chunk_data', data: long.slice(16_384), offset: 16_384 },
      { type: 'chunk_end' },
    ])
  })

  test.each([
    ['quotes and backslashes', '"\\'.repeat(300_000)],
    ['control characters', '\u0001\u0000\n'.repeat(200_000)],
    ['characters of four bytes', '😀'.repeat(150_000)],
    ['characters of three bytes', '漢'.repeat(200_000)],
    ['separators of other languages', '\u2028\u0085'.repeat(100_000)],
  ])('of %s has no line of 64 KiB, slices of at most 16 KiB, and comes out whole', (_name, text) => {
    const message = messageWith(text)
    const lines = linesOf(message)
    for (const line of lines) {
      expect(Buffer.byteLength(line)).toBeLessThan(65_536)
      const { data } = JSON.parse(line) as { data?: string }
      expect(Buffer.byteLength(data ?? '')).toBeLessThanOrEqual(16_384)
      expect((data ?? '').isWellFormed()).toBe(true)
    }
    expect(lines.length).toBeLessThan(4096)
    expect(stdioReader().push(bytesOf(...lines))).toEqual([message])
  })

  test('of 16 MiB passes, a larger one is not written', () => {
    const largest = JSON.stringify('x'.repeat(16 * MIB - 2))
    expect(stdioReader().push(bytesOf(...linesOf(largest)))).toEqual([largest])
    expect(() => linesOf(`${largest} `)).toThrow(RangeError)
  })

  test('comes out whole at every cut between two bytes', () => {
    const message = messageWith('é漢😀"\\')
    const bytes = bytesOf(...linesOf(message), 'noise\n', ...linesOf(message))
    for (let cut = 0; cut <= bytes.length; cut += 1) expect(readInPieces(bytes, [cut])).toEqual([message, message])
  })

  test('comes out whole among others, whatever their text and the cuts', () => {
    const texts = fc.array(
      fc.string({ unit: 'binary', maxLength: 40 }).chain((text) => fc.nat(1000).map((times) => text.repeat(times))),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(texts, fc.array(fc.nat(200_000), { maxLength: 20 }), (all, cuts) => {
        const messages = all.map((text) => messageWith(text.toWellFormed()))
        const bytes = bytesOf(...messages.flatMap(linesOf))
        expect(
          readInPieces(
            bytes,
            cuts.map((cut) => Math.min(cut, bytes.length)),
          ),
        ).toEqual(messages)
      }),
      { numRuns: 30 },
    )
  })
})

describe('the reader', () => {
  const START = helper({ type: 'chunk_start', total_size: 8 })
  const END = helper({ type: 'chunk_end' })

  test('passes over lines that are no objects and helpers without a beginning', () => {
    const lines = ['', 'hello\n', '[1]\n', '{"a"\n', '  {"seq_id":1}  \n', END, helper({ type: 'chunk_data', data: 'x', offset: 0 })]
    expect(stdioReader().push(bytesOf(...lines))).toEqual(['{"seq_id":1}'])
  })

  test('hands up what looks like an object, and a message that only speaks of chunks', () => {
    const about = '{"data":{"type":"chunk_start"}}'
    expect(stdioReader().push(bytesOf('{broken}\n', `${about}\n`))).toEqual(['{broken}', about])
  })

  test('throws away what stands between the slices of a message', () => {
    const slice = helper({ type: 'chunk_data', data: '{"a":12}', offset: 0 })
    expect(stdioReader().push(bytesOf(START, '{"seq_id":2}\n', START, slice, 'noise\n', END, '{"seq_id":3}\n'))).toEqual([
      '{"a":12}',
      '{"seq_id":3}',
    ])
  })

  test.each([
    ['a negative size', [helper({ type: 'chunk_start', total_size: -1 })]],
    ['a size above 16 MiB', [helper({ type: 'chunk_start', total_size: 16 * MIB + 1 })]],
    ['a size that is no number', [helper({ type: 'chunk_start', total_size: '8' })]],
    ['no size', [helper({ type: 'chunk_start' })]],
    ['a slice too early', [START, helper({ type: 'chunk_data', data: 'ab', offset: 2 })]],
    [
      'a slice twice',
      [START, helper({ type: 'chunk_data', data: 'ab', offset: 0 }), helper({ type: 'chunk_data', data: 'ab', offset: 0 })],
    ],
    ['a slice that is no text', [START, helper({ type: 'chunk_data', data: 1, offset: 0 })]],
    ['more than was announced', [START, helper({ type: 'chunk_data', data: '123456789', offset: 0 })]],
    ['less than was announced', [START, helper({ type: 'chunk_data', data: '1234567', offset: 0 }), END]],
    ['an end without anything', [START, END]],
    ['4097 lines', [START, ...Array.from({ length: 4097 }, () => 'noise\n')]],
    ['a line of 64 KiB', [`{"a":"${'x'.repeat(65_536 - 8)}"}\n`]],
    ['64 KiB without an end', ['x'.repeat(65_536)]],
  ])('ends the connection at %s', (_name, lines) => {
    expect(() => stdioReader().push(bytesOf(...lines))).toThrow(RangeError)
  })

  test('takes a line just below 64 KiB, and 4096 lines after a beginning', () => {
    const longest = `{"a":"${'x'.repeat(65_535 - 8)}"}`
    expect(stdioReader().push(bytesOf(`${longest}\n`))).toEqual([longest])
    const noise = Array.from({ length: 4094 }, () => 'noise\n')
    expect(stdioReader().push(bytesOf(START, ...noise, helper({ type: 'chunk_data', data: '{"a":12}', offset: 0 }), END))).toEqual([
      '{"a":12}',
    ])
  })

  test('never fails in another way, whatever comes', () => {
    const noise = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.json(),
      fc
        .record({
          type: fc.constantFrom('chunk_start', 'chunk_data', 'chunk_end'),
          total_size: fc.anything(),
          data: fc.anything(),
          offset: fc.anything(),
        })
        .map((value) => JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? 0 : part))),
    )
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 20 }), (lines) => {
        const push = () => stdioReader().push(bytesOf(...lines.map((line) => `${line}\n`)))
        expect(failureOf(push)).toBeOneOf([null, RangeError])
      }),
    )
  })
})
