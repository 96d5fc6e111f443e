/** The home: one identity, one holder. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openHome } from './home.ts'
import { lockHome } from './lock.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-home-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

test('the server id is made once and kept', () => {
  const { serverId } = openHome(join(home, 'a'))
  expect(serverId).toMatch(/^srv_[0-9a-z]{16}$/)
  expect(openHome(join(home, 'a')).serverId).toBe(serverId)
  expect(openHome(join(home, 'b')).serverId).not.toBe(serverId)
})

test('nobody else may look into the home', () => {
  openHome(join(home, 'a'))
  expect(statSync(join(home, 'a')).mode & 0o777).toBe(0o700)
})

test('a damaged server id is refused, because a new one would orphan the sandboxes', () => {
  writeFileSync(join(home, 'server-id'), 'srv_half')
  expect(() => openHome(home)).toThrow(/does not hold a server id/)
})

test('a second server on one home is refused and told who holds it; a released home is free', () => {
  const lock = lockHome(home)
  expect(() => lockHome(home)).toThrow(`another server (pid ${process.pid}) already uses the home ${home}`)
  lock.release()
  lock.release()
  lockHome(home).release()
})

test('a holder that was killed with -9 leaves the home free', () => {
  const script = `import { lockHome } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))}; lockHome(process.argv[1]); process.kill(process.pid, 'SIGKILL')`
  const { signal } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script, home])
  expect(signal).toBe('SIGKILL')
  lockHome(home).release()
})
