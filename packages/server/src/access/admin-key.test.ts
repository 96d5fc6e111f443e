/** The API key: made once, private, compared. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { adminKeyPath, openAdminKey, readAdminKey } from './admin-key.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-key-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

test('the first start makes a key that only its owner can read, and shows it once', () => {
  const first = openAdminKey(home, null)
  expect(first.madeNow).toMatch(/^hf_[\w-]{43}$/)
  expect(statSync(adminKeyPath(home)).mode & 0o777).toBe(0o600)
  const second = openAdminKey(home, null)
  expect(second.madeNow).toBeNull()
  expect(second.matches(first.madeNow ?? '')).toBe(true)
})

test('another key does not match, whatever its length', () => {
  const key = openAdminKey(home, 'a-configured-key')
  expect(key.matches('a-configured-key')).toBe(true)
  for (const other of ['', 'a-configured-kez', 'a-configured-key ', 'x'.repeat(10_000)]) expect(key.matches(other)).toBe(false)
})

test('a configured key leaves the home alone', () => {
  openAdminKey(home, 'a-configured-key')
  expect(readAdminKey(home)).toBeNull()
})

test('an emptied key file is refused, not taken for an empty key', () => {
  writeFileSync(adminKeyPath(home), '\n')
  expect(() => openAdminKey(home, null)).toThrow(/admin\.key holds no key/)
})
