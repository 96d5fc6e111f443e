/** Input that is there at once travels with the request; everything else as it comes, with nothing lost in between. */
import { expect, test } from 'vitest'
import { gather } from './input.ts'

async function* pieces(...texts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

const read = async (source: AsyncIterable<Uint8Array>) => Buffer.concat(await Array.fromAsync(source)).toString('latin1')

test('a short text is known whole, also none at all and one cut in a character', async () => {
  expect(await gather(pieces('a', 'b'))).toEqual({ kind: 'text', text: 'ab' })
  expect(await gather(pieces())).toEqual({ kind: 'text', text: '' })
  const bytes = Buffer.from('é')
  expect(await gather(pieces(bytes.subarray(0, 1), bytes.subarray(1)))).toEqual({ kind: 'text', text: 'é' })
})

test('what is not text goes as it is', async () => {
  const input = await gather(pieces(Uint8Array.of(0xff, 1)))
  expect(input.kind === 'stream' && (await read(input.pieces))).toBe('\xFF\x01')
})

test('a long input is a stream, from its first byte on', async () => {
  const input = await gather(pieces('a'.repeat(200_000), 'b'.repeat(200_000), 'c'))
  expect(input.kind === 'stream' && (await read(input.pieces))).toBe(`${'a'.repeat(200_000)}${'b'.repeat(200_000)}c`)
})

test('an input that does not end is a stream, and what came before is not lost', async () => {
  const more = Promise.withResolvers<void>()
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('first ')
    await more.promise
    yield Buffer.from('second')
  }
  const input = await gather(slow())
  more.resolve()
  expect(input.kind === 'stream' && (await read(input.pieces))).toBe('first second')
})
