/** What is shown of a stream, whatever its length and however it is cut into pieces. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ClippedStream } from './clipped-stream.ts'

const LIMIT = 4_000
const NOTICE = /\n\[\.\.\. cut here: the whole has (\d+) bytes \.\.\.\]\n/

function clip(text: string | Buffer, pieceBytes = 1_000, limit = LIMIT) {
  const stream = new ClippedStream(limit)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) stream.add(bytes.subarray(at, at + pieceBytes))
  return stream.result()
}

test('what fits is shown as it is, up to the last character', () => {
  for (const text of ['', 'one', 'x'.repeat(LIMIT), '🦞'.repeat(LIMIT)]) expect(clip(text)).toEqual({ text, isTruncated: false })
})

test.each([
  ['just too long', LIMIT + 1],
  ['as much as is kept whole', 32_000],
  ['longer than what is kept', 3_000_000],
])('%s: 60 % of the beginning, a notice, 40 % of the end, all within the limit', (_name, length) => {
  const whole = Array.from({ length }, (_, index) => String.fromCharCode(97 + (index % 26))).join('')
  const { text, isTruncated } = clip(whole, 65_536)
  expect(isTruncated).toBe(true)
  expect(text.length).toBe(LIMIT)
  const [notice = '', bytes] = NOTICE.exec(text) ?? []
  expect(bytes).toBe(String(length))
  const [head = '', tail = ''] = text.split(notice)
  expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true)
  expect(head.length).toBe(Math.floor((LIMIT - notice.length) * 0.6))
  expect(head.length + notice.length + tail.length).toBe(LIMIT)
})

test('no character is cut in two, wherever pieces end', () => {
  for (const pieceBytes of [1, 3, 7, 4_096]) {
    const { text } = clip('a🦞é'.repeat(20_000), pieceBytes)
    expect(Array.from(text)).toHaveLength(LIMIT)
    expect(text.isWellFormed()).toBe(true)
    expect(text.replace(NOTICE, '')).toMatch(/^[a🦞é]+$/u)
  }
})

describe('for any bytes', () => {
  test('the limit holds, the pieces do not matter, and what is not UTF-8 is replaced', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.integer({ min: 1, max: 300 }), (bytes, pieceBytes) => {
        const cut = clip(Buffer.from(bytes), pieceBytes, 100)
        expect(Array.from(cut.text).length).toBeLessThanOrEqual(100)
        expect(cut.text.isWellFormed()).toBe(true)
        expect(cut).toEqual(clip(Buffer.from(bytes), 5_000, 100))
      }),
    )
  })
})
