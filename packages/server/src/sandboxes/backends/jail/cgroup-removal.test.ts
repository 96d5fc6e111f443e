/** A cgroup is gone when removal returns, whatever lived in it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseCgroupMounts } from './cgroup-layout.ts'
import { removeCgroups } from './cgroup-removal.ts'

const mounts = parseCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'))
const subjects = [
  { title: 'version 1', mount: mounts.find(({ version, controllers }) => version === 1 && controllers.includes('pids')) },
  { title: 'version 2', mount: mounts.find(({ version }) => version === 2) },
]

test.for(subjects)('$title: a directory with a forking process in it is emptied and removed', async ({ title, mount }, { skip }) => {
  if (process.getuid?.() !== 0) return skip('only root may make a cgroup here')
  if (mount === undefined) return skip(`this host has no ${title} hierarchy`)
  const directory = join(mount.path, `holdfast-test-${process.pid}`)
  mkdirSync(directory)
  const child = spawn('sh', ['-c', 'echo ready; while :; do sleep 0.01; done'], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  writeFileSync(join(directory, 'cgroup.procs'), String(child.pid))
  const ended = once(child, 'exit')
  await removeCgroups([directory])
  expect(existsSync(directory)).toBe(false)
  expect(await ended).toEqual([null, 'SIGKILL'])
})

test('a directory that never was is removed already', async () => {
  await expect(removeCgroups(['/sys/fs/cgroup/holdfast-there-is-no-such-thing'])).resolves.toBeUndefined()
})
