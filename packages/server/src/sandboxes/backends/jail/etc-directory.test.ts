/** The sandbox's /etc knows its user and names nothing of the host. */
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEtcDirectory, etcContent } from './etc-directory.ts'

test('only with the network on is there a resolver', () => {
  expect(etcContent('off').files['resolv.conf']).toBeUndefined()
  expect(etcContent('on').files['resolv.conf']).toBe('nameserver 10.0.2.3\n')
})

test('no file of it may hold a secret of the host', () => {
  const { files, binds } = etcContent('on')
  for (const path of ['shadow', 'machine-id', 'ssh', 'npmrc', 'sudoers', 'environment', 'fstab'])
    expect([...Object.keys(files), ...binds.map((bind) => bind.slice(5))]).not.toContain(path)
})

test('it is made once, readable to the sandbox, with a mount point for all that is shown', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'holdfast-etc-'))
  const made = await Promise.all([createEtcDirectory(stateDir, 'off'), createEtcDirectory(stateDir, 'off')])
  expect(made[0]).toEqual(made[1])
  const { directory, binds } = made[0]
  expect(readdirSync(join(stateDir, 'jail'))).toHaveLength(1)
  expect(statSync(directory).mode & 0o777).toBe(0o755)
  expect(statSync(join(directory, 'passwd')).mode & 0o777).toBe(0o644)
  expect(readFileSync(join(directory, 'passwd'), 'utf8')).toContain('user:x:1000:1000:user:/home/user:')
  for (const path of binds) expect(statSync(join(directory, path.slice('/etc/'.length))).isDirectory()).toBe(true)
})
