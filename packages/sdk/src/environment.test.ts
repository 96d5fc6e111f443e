/** The environment of Node, Deno, a browser, and a Deno that refuses. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { adminKeyHere, fromEnvironment } from './environment.ts'

test('it is read where there is one, and empty text is nothing', () => {
  expect(fromEnvironment('HOLDFAST_URL', { process: { env: { HOLDFAST_URL: 'http://a' } } })).toBe('http://a')
  expect(fromEnvironment('HOLDFAST_URL', { process: { env: { HOLDFAST_URL: '' } } })).toBeUndefined()
  expect(fromEnvironment('HOLDFAST_URL', { Deno: { env: { get: (name) => `deno ${name}` } } })).toBe('deno HOLDFAST_URL')
  expect(fromEnvironment('HOLDFAST_URL', {})).toBeUndefined()
})

test('a Deno that does not allow it has none', () => {
  const get = () => {
    throw new Error('NotCapable: Requires env access')
  }
  expect(fromEnvironment('HOLDFAST_API_KEY', { Deno: { env: { get } } })).toBeUndefined()
})

describe('the key of a server on the same machine', () => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-key-'))
  writeFileSync(join(home, 'admin.key'), 'hf_here\n')
  afterAll(() => rmSync(home, { recursive: true }))
  const here = { process: { env: { HOLDFAST_HOME: home }, getBuiltinModule: process.getBuiltinModule } }

  test('is read from its home, for loopback only', () => {
    for (const url of ['http://127.0.0.1:5410', 'http://localhost:1/', 'http://[::1]:5410']) expect(adminKeyHere(url, here)).toBe('hf_here')
    for (const url of ['http://10.0.0.1:5410', 'https://localhost.example', 'nonsense']) expect(adminKeyHere(url, here)).toBeUndefined()
  })

  test('is nothing where there is no file, and in a browser', () => {
    const away = { process: { ...here.process, env: { HOLDFAST_HOME: join(home, 'away') } } }
    expect(adminKeyHere('http://127.0.0.1:5410', away)).toBeUndefined()
    expect(adminKeyHere('http://127.0.0.1:5410', {})).toBeUndefined()
  })
})
