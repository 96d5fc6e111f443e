/** Lines of a server, however they are cut and however long they are. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MessageLines } from './message-lines.ts'

function linesOf(bytes: Buffer, cuts: readonly number[], limit: number) {
  const framer = new MessageLines(limit)
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((first, second) => first - second)
  let from = 0
  const pieces = ends.map((end) => bytes.subarray(from, (from = end)))
  return [...pieces.flatMap((piece) => framer.push(Buffer.from(piece))), ...framer.end()]
}

describe('lines of messages', () => {
  test('are the same however they are cut', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'ü', '🙂', '"', ' ') })
    fc.assert(
      fc.property(fc.array(word), fc.array(fc.nat()), (words, cuts) => {
        const bytes = Buffer.from(words.map((said) => `${said}\n`).join(''))
        expect(linesOf(bytes, cuts, 10_000)).toEqual(words.map((text) => ({ text })))
      }),
    )
  })

  test('above the limit are told with the id that they answer, wherever it stands, and the next line is whole', () => {
    const x = 'x'.repeat(2_000)
    const long: readonly (readonly [string, number | null])[] = [
      [`{"jsonrpc":"2.0","id":17,"result":{"x":"${x}"}}`, 17],
      [`{"result":{"x":"${x}","id":3},"jsonrpc":"2.0","id":17}`, 17],
      [`{"result":{"x":"${x}"},"id":17,"jsonrpc":"2.0"}`, 17],
      [`{"result":{"x":"${x}","y":{"id":17}}}`, null],
      [`{"result":{"x":"${x}\\"id\\":17}"}}`, null],
      [`{"jsonrpc":"2.0","method":"m","params":{"id":17,"x":"${x}"}}`, null],
    ]
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.constantFrom(...long), (cuts, [text, id]) => {
        expect(linesOf(Buffer.from(`${text}\nnext\n`), cuts, 1_000)).toEqual([{ tooLong: true, id }, { text: 'next' }])
      }),
    )
  })

  test('that never end are never held', () => {
    const framer = new MessageLines(1_000)
    const piece = Buffer.alloc(65_536, 'x')
    const before = process.memoryUsage().arrayBuffers
    for (let n = 0; n < 2_000; n += 1) expect(framer.push(piece)).toEqual([])
    expect(framer.end()).toEqual([{ tooLong: true, id: null }])
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024)
  })
})
