/** Data for programs: the names of the API, and nothing that a terminal obeys. */
import { expect, test } from 'vitest'
import { structured } from './print.ts'
import { printable } from './printable.ts'
import { wireNames } from './wire-names.ts'

test('names are those of the API, and names of the caller’s own stay as they are', () => {
  const record = {
    expiresAt: null,
    limits: { memoryBytes: 1 },
    labels: { 'my.Team': 'a' },
    metadata: { aB: 'c' },
    items: [{ sessionId: 's' }],
    left: undefined,
  }
  expect(wireNames(record)).toEqual({
    expires_at: null,
    limits: { memory_bytes: 1 },
    labels: { 'my.Team': 'a' },
    metadata: { aB: 'c' },
    items: [{ session_id: 's' }],
  })
})

test.each(['json', 'yaml'] as const)('%s holds nothing that tables escape, and is read back as it was', async (format) => {
  const value = { key: 'a\u001B[2J\u009Bb\u007F', plain: 'x: y', lines: 'one\ntwo', 'gpj\u202E.exe': '\u200E\u2066\u2028\t' }
  const text = await structured(value, format)
  for (const line of text.split('\n')) expect(printable(line)).toBe(line)
  const { parse } = await import('yaml')
  expect(parse(text)).toEqual(value)
})

test('yaml that needs no escapes is plain', async () => {
  expect(await structured({ key: 'my-task', count: 1 }, 'yaml')).toBe('key: my-task\ncount: 1\n')
})
