/** Data for programs: the names of the API, and nothing that a terminal obeys. */
import { expect, test } from 'vitest'
import { structured } from './print.ts'
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

test.each(['json', 'yaml'] as const)('%s holds no control characters, and is read back as it was', async (format) => {
  const value = { key: 'a\u001B[2J\u009Bb\u007F', plain: 'x: y', lines: 'one\ntwo' }
  const text = await structured(value, format)
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  const { parse } = await import('yaml')
  expect(parse(text)).toEqual(value)
})

test('yaml that needs no escapes is plain', async () => {
  expect(await structured({ key: 'my-task', count: 1 }, 'yaml')).toBe('key: my-task\ncount: 1\n')
})
