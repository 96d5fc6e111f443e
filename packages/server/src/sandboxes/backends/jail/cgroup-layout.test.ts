/** Version 1, version 2, both at once; root and delegated: each finds its place, or says why there is none. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { findCgroups, parseCgroupMounts, prepareCgroup, type CgroupHost } from './cgroup-layout.ts'

let top = ''
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'holdfast-cgroup-'))
})

function version1(...controllers: readonly string[]): string {
  return controllers
    .map((controller) => {
      mkdirSync(join(top, controller), { recursive: true })
      return `30 25 0:26 / ${join(top, controller)} rw,relatime - cgroup cgroup rw,${controller}\n`
    })
    .join('')
}

function version2(path: string, controllers: string): string {
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'cgroup.controllers'), `${controllers}\n`)
  writeFileSync(join(path, 'cgroup.subtree_control'), '')
  return `31 25 0:27 / ${top} rw,relatime - cgroup2 cgroup2 rw\n`
}

function host(wish: Partial<CgroupHost>): CgroupHost {
  return { isRoot: true, mountinfo: '', selfCgroup: '0::/\n', ...wish }
}

test('root on version 1 gets a place in each hierarchy', () => {
  const layout = findCgroups('srv', host({ mountinfo: version1('memory', 'pids', 'cpu,cpuacct', 'freezer') }))
  expect(layout).toEqual({
    freezer: { version: 1, parent: join(top, 'freezer/holdfast-srv') },
    memory: { version: 1, parent: join(top, 'memory/holdfast-srv') },
    pids: { version: 1, parent: join(top, 'pids/holdfast-srv') },
    cpu: { version: 1, parent: join(top, 'cpu,cpuacct/holdfast-srv') },
  })
})

test('root on version 2 gets one place for all, at the top', () => {
  const layout = findCgroups(
    'srv',
    host({ mountinfo: version2(top, 'cpuset cpu io memory pids'), selfCgroup: '0::/system.slice/x.service\n' }),
  )
  const place = { version: 2, parent: join(top, 'holdfast-srv') }
  expect(layout).toEqual({ memory: place, pids: place, cpu: place, freezer: place })
})

test('on a hybrid host a version 2 hierarchy without controllers is passed over, except to freeze', () => {
  const layout = findCgroups('srv', host({ mountinfo: version2(top, '') + version1('memory', 'pids', 'cpu') }))
  expect(layout.memory).toEqual({ version: 1, parent: join(top, 'memory/holdfast-srv') })
  expect(layout.freezer).toEqual({ version: 2, parent: join(top, 'holdfast-srv') })
})

test('another user gets only what was delegated to it', () => {
  const own = join(top, 'user.slice/run-1.scope')
  const layout = findCgroups(
    'srv',
    host({ isRoot: false, mountinfo: version2(own, 'memory pids'), selfCgroup: '0::/user.slice/run-1.scope\n' }),
  )
  expect(layout.memory).toEqual({ version: 2, parent: join(own, 'holdfast-srv') })
  expect(layout.cpu).toEqual({ reason: expect.stringContaining('systemd-run --user --scope -p Delegate=yes') })
})

test('a server that moved itself down finds the same place again', () => {
  const own = join(top, 'run-1.scope')
  const layout = findCgroups(
    'srv',
    host({ isRoot: false, mountinfo: version2(own, 'memory'), selfCgroup: '0::/run-1.scope/holdfast-server\n' }),
  )
  expect(layout.memory).toEqual({ version: 2, parent: join(own, 'holdfast-srv') })
})

test.skipIf(process.getuid?.() === 0)('a cgroup that belongs to another is not delegated (root may write everywhere)', () => {
  const mountinfo = version2(top, 'memory')
  chmodSync(top, 0o555)
  expect(findCgroups('srv', host({ isRoot: false, mountinfo })).memory).toEqual({ reason: expect.stringContaining('not delegated') })
})

test('version 1 is for root alone', () => {
  const layout = findCgroups('srv', host({ isRoot: false, mountinfo: version1('memory', 'pids', 'cpu') }))
  expect(layout.pids).toEqual({ reason: expect.stringContaining('only root') })
})

test('no cgroups at all is a reason, not an error', () => {
  expect(findCgroups('srv', host({})).memory).toEqual({ reason: expect.stringContaining('memory controller') })
})

test('mounts of other kinds are not cgroups', () => {
  expect(parseCgroupMounts('22 1 8:1 / / rw - ext4 /dev/sda rw\n\ngarbage\n')).toEqual([])
})

test('in version 2 the controllers are handed down to the parent', async () => {
  const mountinfo = version2(top, 'memory pids cpu')
  const parent = join(top, 'holdfast-srv')
  // In a real hierarchy the kernel makes this file with the directory.
  mkdirSync(parent)
  writeFileSync(join(parent, 'cgroup.subtree_control'), 'memory\n')
  await prepareCgroup(findCgroups('srv', host({ mountinfo })), parent)
  expect(readFileSync(join(top, 'cgroup.subtree_control'), 'utf8')).toBe('+memory +pids +cpu')
  expect(readFileSync(join(parent, 'cgroup.subtree_control'), 'utf8')).toBe('+pids +cpu')
})
