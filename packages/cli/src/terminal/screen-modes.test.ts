/** What a program switched on and not off again, wherever its sequences are cut. */
import { expect, test } from 'vitest'
import { screenModes } from './screen-modes.ts'

function undoing(...pieces: readonly string[]): string {
  const modes = screenModes()
  for (const piece of pieces) modes.watch(Buffer.from(piece, 'latin1'))
  return modes.undoing()
}

test('an editor that was left in its middle is undone', () => {
  expect(undoing('\u001B[?1049h\u001B[?1002;1006h\u001B[?25l text')).toBe('\u001B[?1049l\u001B[?1002l\u001B[?1006l\u001B[?25h\u001B[0m')
})

test('one that has tidied up itself needs nothing', () => {
  expect(undoing('\u001B[?1049h\u001B[?25l', 'text', '\u001B[?25h\u001B[?1049l')).toBe('')
})

test('a sequence may be cut anywhere', () => {
  const keys = 'ab\u001B[?2004hcd'
  expect(undoing(...keys.split(''))).toBe(undoing(keys))
  expect(undoing(keys)).toBe('\u001B[?2004l\u001B[0m')
})

test('a sequence without an end costs no memory', () => {
  const modes = screenModes()
  for (let times = 0; times < 1000; times += 1) modes.watch(Buffer.from(`\u001B[?${'1'.repeat(100)}`))
  expect(modes.undoing()).toBe('')
})
