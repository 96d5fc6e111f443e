/** Lines of a program's output: whole, in order, never too large, wherever the output is cut. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { danglingBytes, LineFramer, MAXIMUM_LINE_BYTES } from './line-framer.ts'
import type { LineMessage } from './line-framer.ts'

function framed(pieces: readonly Buffer[], isFlushed = false): readonly LineMessage[] {
  const messages: LineMessage[] = []
  const framer = new LineFramer((message) => messages.push(message))
  let seq = 0
  for (const piece of pieces) {
    seq += piece.length
    framer.push(Buffer.from(piece), seq)
    if (isFlushed) framer.flush()
  }
  framer.end()
  return messages
}

const textOf = (messages: readonly LineMessage[]) => messages.map(({ bytes }) => bytes.toString())
const piecesOf = (bytes: Buffer, cuts: readonly number[]) => {
  const at = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].toSorted((a, b) => a - b)
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

describe('one message is one line', () => {
  test('with its end, however the lines come', () => {
    expect(textOf(framed([Buffer.from('a\nb'), Buffer.from('c\n\n'), Buffer.from('d')]))).toEqual(['a\n', 'bc\n', '\n', 'd'])
  })

  test('whatever the text and wherever it is cut, and each knows where it ends', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll(/[\n\0]/g, ' ').toWellFormed())
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 20 }), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
        const messages = framed(piecesOf(bytes, cuts))
        expect(textOf(messages)).toEqual(lines.map((text) => `${text}\n`))
        let seq = 0
        for (const message of messages) expect(message.seq).toBe((seq += message.bytes.length))
      }),
    )
  })

  test('a line that is shown before its end is cut between characters only', () => {
    const text = 'grüße 漢字 🦊 ﷽\n'
    const bytes = Buffer.from(text)
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const messages = framed([bytes.subarray(0, cut), bytes.subarray(cut)], true)
      expect(textOf(messages).join('')).toBe(text)
      expect(textOf(messages).join('')).not.toContain('�')
    }
  })
})

describe('a message is never above 1 MiB', () => {
  test('a line of exactly that is one message, a longer one is cut below it', () => {
    const exact = Buffer.from(`${'x'.repeat(MAXIMUM_LINE_BYTES - 1)}\n`)
    expect(framed([exact]).map(({ bytes }) => bytes.length)).toEqual([MAXIMUM_LINE_BYTES])
    const long = framed([Buffer.concat([Buffer.from('x'), exact])])
    expect(long.every(({ bytes }) => bytes.length < MAXIMUM_LINE_BYTES)).toBe(true)
    expect(textOf(long).join('')).toBe(`x${exact.toString()}`)
  })

  test('and its characters are whole at every cut', () => {
    for (const shift of [0, 1, 2, 3]) {
      const text = `${'x'.repeat(shift)}${'🦊漢'.repeat(400_000)}\n`
      const messages = framed(
        piecesOf(
          Buffer.from(text),
          Array.from({ length: 60 }, (_, index) => index * 65_536 + shift),
        ),
      )
      expect(messages.every(({ bytes }) => bytes.length <= MAXIMUM_LINE_BYTES)).toBe(true)
      expect(textOf(messages).join('') === text).toBe(true)
    }
  })

  test('also when what is not UTF-8 grows by being replaced', () => {
    const messages = framed([Buffer.alloc(900_000, 0xff), Buffer.from('\n')])
    expect(messages.every(({ bytes }) => bytes.length <= MAXIMUM_LINE_BYTES)).toBe(true)
    expect(textOf(messages).join('') === `${'�'.repeat(900_000)}\n`).toBe(true)
    // Only whoever has the last piece is behind the line.
    expect(messages.map(({ seq }) => seq)).toEqual([0, 0, 900_001])
  })
})

test('what hangs over at the end of bytes is the beginning of a character', () => {
  expect(danglingBytes(Buffer.from('a'))).toBe(0)
  expect(danglingBytes(Buffer.from('ü'))).toBe(0)
  for (const [character, size] of [
    ['ü', 2],
    ['漢', 3],
    ['🦊', 4],
  ] as const)
    for (let cut = 1; cut < size; cut += 1) expect(danglingBytes(Buffer.from(`a${character}`).subarray(0, 1 + cut))).toBe(cut)
})
