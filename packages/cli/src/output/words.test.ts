/** Times and sizes as people read them. */
import { expect, test } from 'vitest'
import { durationWords, momentWords, sizeWords } from './words.ts'

test.each([
  [0, '0ms'],
  [250, '250ms'],
  [1000, '1s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [312_000, '5m 12s'],
  [3_600_000, '1h'],
  [3_605_000, '1h'],
  [11_040_000, '3h 4m'],
  [90_061_000, '1d 1h'],
])('%d ms are %s', (milliseconds, words) => expect(durationWords(milliseconds)).toBe(words))

test('a moment is told from now', () => {
  const now = Date.parse('2026-01-01T12:00:00Z')
  expect(momentWords('2026-01-01T12:05:00Z', now)).toBe('in 5m')
  expect(momentWords('2026-01-01T11:00:00Z', now)).toBe('1h ago')
  expect(momentWords('2026-01-01T12:00:00Z', now)).toBe('1s ago')
  expect(momentWords(null, now)).toBe('-')
})

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1536, '1.5 KiB'],
  [512 * 2 ** 20, '512 MiB'],
  [2 ** 40, '1.0 TiB'],
])('%d bytes are %s', (bytes, words) => expect(sizeWords(bytes)).toBe(words))
