/** Escapes at the beginning of a line, however the keys arrive. */
import { expect, test } from 'vitest'
import { escapeReader } from './escapes.ts'

/** What was sent, with the escapes in angle brackets. */
function typed(...pieces: readonly string[]): string {
  const reader = escapeReader()
  return pieces
    .flatMap((piece) => reader.read(Buffer.from(piece)))
    .map(({ bytes, escape }) => Buffer.from(bytes).toString() + (escape === null ? '' : `<${escape}>`))
    .join('')
}

test.each([
  [['~.'], '<detach>'],
  [['ls\r', '~', '.'], 'ls\r<detach>'],
  [['ls\r~?more'], 'ls\r<help>more'],
  [['\r~~.'], '\r~.'],
  [['\r~x'], '\r~x'],
  [['a~.'], 'a~.'],
  [['cd ~\r'], 'cd ~\r'],
  [['\u0003~.'], '\u0003<detach>'],
  [['~\r', '~.'], '~\r<detach>'],
  [['~.rest is not sent'], '<detach>'],
  [['é~', '.\n~?'], 'é~.\n<help>'],
])('%j becomes %j', (pieces, sent) => expect(typed(...pieces)).toBe(sent))

test('pieces of any size give the same', () => {
  const keys = 'one~.\r~~two\r~?\r~a~.\rlast\r~.'
  expect(typed(...keys.split(''))).toBe(typed(keys))
})
