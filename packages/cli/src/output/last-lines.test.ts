/** The end of what a program printed, by lines. */
import { expect, test } from 'vitest'
import { lastLines } from './last-lines.ts'

const pieces = (...texts: readonly string[]) => texts.map((text) => ({ channel: 'stdout' as const, bytes: Buffer.from(text) }))
const shown = (count: number, ...texts: readonly string[]) =>
  lastLines(pieces(...texts), count)
    .map(({ bytes }) => Buffer.from(bytes).toString())
    .join('')

test('whole lines from the end, wherever the pieces are cut', () => {
  const text = 'one\ntwo\nthree\n'
  for (let at = 0; at <= text.length; at++) {
    expect(shown(1, text.slice(0, at), text.slice(at))).toBe('three\n')
    expect(shown(2, text.slice(0, at), text.slice(at))).toBe('two\nthree\n')
    expect(shown(9, text.slice(0, at), text.slice(at))).toBe(text)
  }
})

test('an unfinished line is a line, and an empty one too', () => {
  expect(shown(1, 'one\ntwo')).toBe('two')
  expect(shown(2, 'one\n\n')).toBe('one\n\n')
  expect(shown(1, 'one\n\n')).toBe('\n')
  expect(shown(0, 'one\n')).toBe('')
  expect(shown(3)).toBe('')
})

test('each piece keeps its channel', () => {
  const mixed = [...pieces('a\nb\n'), { channel: 'stderr' as const, bytes: Buffer.from('c\n') }]
  expect(lastLines(mixed, 2).map(({ channel, bytes }) => [channel, Buffer.from(bytes).toString()])).toEqual([
    ['stdout', 'b\n'],
    ['stderr', 'c\n'],
  ])
})
