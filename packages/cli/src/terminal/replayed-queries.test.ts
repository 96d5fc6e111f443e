/** Old output asks the terminal nothing. */
import { expect, test } from 'vitest'
import { replayFilter } from './replayed-queries.ts'

const shown = (pieces: readonly string[], replayed: number) => {
  const filter = replayFilter(replayed)
  return pieces.map((piece) => Buffer.from(filter.pass(Buffer.from(piece, 'latin1'))).toString('latin1')).join('')
}

const QUERIES = [
  ...['\u001B[c', '\u001B[0c', '\u001B[>c', '\u001B[=c', '\u001B[5n', '\u001B[6n', '\u001B[?6n', '\u001B[>q', '\u001B[>0q'],
  ...['\u001B[?2026$p', '\u001B[?u', '\u001B[18t', '\u001B]11;?\u0007', '\u001B]10;?\u001B\\', '\u001B]4;1;?\u0007'],
  ...['\u001BP+q436f\u001B\\', '\u001BP$qm\u001B\\', '\u001BZ', '\u0005'],
]

test.each(QUERIES)('%j is not asked again', (query) => {
  const text = `a${query}b\u001B[31mc`
  expect(shown([text], text.length)).toBe('ab\u001B[31mc')
})

test.each(QUERIES)('%j is found wherever the pieces are cut', (query) => {
  const text = `a${query}b`
  for (let at = 1; at < text.length; at++) expect(shown([text.slice(0, at), text.slice(at)], text.length)).toBe('ab')
})

test('what programs draw with stays, byte for byte', () => {
  const drawn = '\u001B[?1049h\u001B[2J\u001B[1;1H\u001B[0;1m\u001B]0;title\u0007\u001B[4;20r\u001B[8;24;80t\u001B[1 q\u00C3\u00A9\u001B(B'
  for (let at = 0; at <= drawn.length; at++) expect(shown([drawn.slice(0, at), drawn.slice(at)], drawn.length)).toBe(drawn)
})

test('what is asked from now on is answered by the terminal', () => {
  expect(shown(['old\u001B[6n', 'new\u001B[6n'], 7)).toBe('oldnew\u001B[6n')
  expect(shown(['old\u001B[6nnew\u001B[6n'], 7)).toBe('oldnew\u001B[6n')
})

test('output that is not kept any more counts as past', () => {
  const filter = replayFilter(10)
  filter.skip(6)
  expect(Buffer.from(filter.pass(Buffer.from('\u001B[6n\u001B[6n'))).toString()).toBe('\u001B[6n')
})
