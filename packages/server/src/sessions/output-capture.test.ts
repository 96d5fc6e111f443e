/** Bounded capture: exact below the limit, honest above it. */
import { assert, nat, property, string } from 'fast-check'
import { expect, test } from 'vitest'
import { OutputCapture } from './output-capture.ts'

const captured = (limitBytes: number, ...chunks: readonly Buffer[]) => {
  const capture = new OutputCapture(limitBytes)
  for (const chunk of chunks) capture.add(chunk)
  return { text: capture.text(), isTruncated: capture.isTruncated }
}

test('text survives any cutting into chunks', () => {
  assert(
    property(string({ unit: 'binary' }), nat(), (text, seed) => {
      const bytes = Buffer.from(text.toWellFormed())
      const cut = bytes.length === 0 ? 0 : seed % bytes.length
      expect(captured(1 << 20, bytes.subarray(0, cut), bytes.subarray(cut))).toEqual({ text: text.toWellFormed(), isTruncated: false })
    }),
  )
})

test('exactly the limit is not truncated, one byte more is', () => {
  expect(captured(4, Buffer.from('abcd'))).toEqual({ text: 'abcd', isTruncated: false })
  expect(captured(4, Buffer.from('ab'), Buffer.from('cde'))).toEqual({ text: 'abcd', isTruncated: true })
})

test('a character that the limit cuts in two is left out', () => {
  expect(captured(4, Buffer.from('abcé'))).toEqual({ text: 'abc', isTruncated: true })
})

test('invalid UTF-8 is replaced, not lost', () => {
  expect(captured(100, Buffer.from([0x61, 0xff, 0x62])).text).toBe('a\uFFFDb')
  expect(captured(100, Buffer.from([0x61, 0xc3])).text).toBe('a\uFFFD')
})

test('a chunk that is changed afterwards does not change what was captured', () => {
  const chunk = Buffer.from('abc')
  const capture = new OutputCapture(10)
  capture.add(chunk)
  chunk.fill(0)
  expect(capture.text()).toBe('abc')
})
