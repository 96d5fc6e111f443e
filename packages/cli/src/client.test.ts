/** Where the server is and which key it is shown: flags before the environment before the configuration. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connectionOf } from './client.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-client-'))
  for (const name of ['HOLDFAST_URL', 'HOLDFAST_API_KEY', 'HOLDFAST_HOST']) vi.stubEnv(name, undefined)
  vi.stubEnv('HOLDFAST_HOME', home)
  vi.stubEnv('HOLDFAST_PORT', '6000')
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true, force: true })
})

test('the configuration says where, and the home has the key', async () => {
  expect(await connectionOf({})).toEqual({ url: 'http://127.0.0.1:6000', apiKey: null })
  writeFileSync(join(home, 'admin.key'), 'hf_of_this_machine\n')
  expect(await connectionOf({})).toEqual({ url: 'http://127.0.0.1:6000', apiKey: 'hf_of_this_machine' })
  expect(await connectionOf({ url: 'http://localhost:7000' })).toEqual({ url: 'http://localhost:7000', apiKey: 'hf_of_this_machine' })
})

test('the key of this machine is shown to no other', async () => {
  writeFileSync(join(home, 'admin.key'), 'hf_of_this_machine\n')
  expect(await connectionOf({ url: 'https://example.com' })).toEqual({ url: 'https://example.com', apiKey: null })
  vi.stubEnv('HOLDFAST_API_KEY', 'hf_for_there')
  expect(await connectionOf({ url: 'https://example.com' })).toEqual({ url: 'https://example.com', apiKey: 'hf_for_there' })
})

test('flags come before the environment', async () => {
  vi.stubEnv('HOLDFAST_URL', 'http://a.example')
  vi.stubEnv('HOLDFAST_API_KEY', 'hf_a')
  expect(await connectionOf({})).toEqual({ url: 'http://a.example', apiKey: 'hf_a' })
  expect(await connectionOf({ url: 'http://b.example' })).toEqual({ url: 'http://b.example', apiKey: 'hf_a' })
})
