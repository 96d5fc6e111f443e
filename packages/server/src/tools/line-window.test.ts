/** Lines from bytes as they come. */
import { expect, test } from 'vitest'
import { bytesFromLine, linesIn } from './line-window.ts'
import type { LineWish } from './line-window.ts'

async function* pieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(text: string, wish: Partial<LineWish>, size = 3) {
  const whole = { offset: 1, limit: 2_000, maxBytes: 51_200, ...wish }
  return linesIn(await bytesFromLine(pieces(text, size), whole), whole)
}

test.each([1, 2, 3, 7, 1_000])('lines are found in pieces of %i bytes', async (size) => {
  const text = 'één\n\nthree\nfour'
  expect(await read(text, {}, size)).toEqual({ lines: ['één', '', 'three', 'four'], cutBy: null })
  expect(await read(text, { offset: 3 }, size)).toEqual({ lines: ['three', 'four'], cutBy: null })
  expect(await read(text, { offset: 2, limit: 2 }, size)).toEqual({ lines: ['', 'three'], cutBy: 'lines' })
  expect(await read(text, { offset: 5 }, size)).toEqual({ lines: [], cutBy: null })
})

test('a file that ends with a line end has no line after it', async () => {
  expect(await read('a\nb\n', {})).toEqual({ lines: ['a', 'b'], cutBy: null })
  expect(await read('a\nb\n', { limit: 2 })).toEqual({ lines: ['a', 'b'], cutBy: null })
  expect(await read('', {})).toEqual({ lines: [], cutBy: null })
})

test('only whole lines within the bytes, each counted with its end', async () => {
  expect(await read('aaa\nbbb\nccc', { maxBytes: 8 })).toEqual({ lines: ['aaa', 'bbb'], cutBy: 'bytes' })
  expect(await read('aaa\nbbb\nccc', { maxBytes: 7 })).toEqual({ lines: ['aaa'], cutBy: 'bytes' })
  expect(await read('aaa\nbbb', { maxBytes: 7 })).toEqual({ lines: ['aaa', 'bbb'], cutBy: null })
  expect(await read('aaaa\nb', { maxBytes: 3 })).toEqual({ lines: [], cutBy: 'bytes' })
})

test('nothing is asked for beyond what can be shown', async () => {
  let given = 0
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) {
      given += 1
      yield Buffer.from('x'.repeat(100))
    }
  }
  const wish = { offset: 1, limit: 10, maxBytes: 250 }
  expect(await bytesFromLine(endless(), wish)).toHaveLength(251)
  expect(given).toBe(3)
})
