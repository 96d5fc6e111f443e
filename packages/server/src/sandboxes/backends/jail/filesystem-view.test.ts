/** The view holds what a sandbox needs and nothing else of the host. */
import { expect, test } from 'vitest'
import type { Mount, SandboxSpec } from '../../spec.ts'
import { filesystemView, type ViewEntry } from './filesystem-view.ts'

function spec(mounts: readonly Mount[] = [], tmpBytes = 1024): SandboxSpec {
  return {
    image: null,
    network: 'off',
    rootfs: 'read-only',
    mounts,
    limits: { cpus: null, memoryBytes: null, pids: null, tmpBytes, openFiles: 64 },
  }
}

const ETC = { directory: '/state/etc', binds: ['/etc/ssl/certs'] }

function view(wish: SandboxSpec, cgroups: Parameters<typeof filesystemView>[3] = []): readonly ViewEntry[] {
  return filesystemView(wish, ETC, '/guest', cgroups, '/state/root')
}

function targets(entries: readonly ViewEntry[]): readonly string[] {
  return entries.flatMap((entry) => ('target' in entry ? [entry.target] : []))
}

test('only what was mounted for writing can be written, besides bounded tmpfs', () => {
  const entries = view(spec([{ source: '/a', target: '/data', mode: 'rw' }]))
  const writable = entries.filter((entry) => entry.kind === 'tmpfs' || (entry.kind === 'bind' && entry.mode === 'rw'))
  expect(targets(writable)).toEqual(['/dev/shm', '/tmp', '/run', '/home/user', '/workspace', '/data'])
})

test('the host shows /usr, its links, a few public files of /etc and kernel settings, all read-only', () => {
  const sources = view(spec()).flatMap((entry) =>
    entry.kind === 'bind' && !/^\/lib|^\/s?bin/.test(entry.source) ? [`${entry.source} ${entry.mode}`] : [],
  )
  expect(sources).toEqual(['/usr ro', '/state/etc ro', '/etc/ssl/certs ro', '/proc/sys ro', '/guest ro'])
})

test('a mount takes the place of the tmpfs that would be there', () => {
  const entries = view(spec([{ source: '/a', target: '/workspace', mode: 'ro' }]))
  expect(entries.filter((entry) => 'target' in entry && entry.target === '/workspace')).toEqual([
    { kind: 'bind', source: '/a', target: '/workspace', mode: 'ro', owner: 1000 },
  ])
})

test('parents come before what lies in them, however they were listed', () => {
  const listed = ['/workspace/.skills/x', '/workspace', '/data/a/b'].map((target): Mount => ({ source: '/a', target, mode: 'ro' }))
  const shown = targets(view(spec(listed)))
  expect(shown.indexOf('/workspace')).toBeLessThan(shown.indexOf('/workspace/.skills/x'))
  expect(shown.slice(shown.indexOf('/data'), shown.indexOf('/data') + 3)).toEqual(['/data', '/data/a', '/data/a/b'])
  expect(shown).not.toContain('/workspace/.skills')
})

test('a tmpfs is as large as wished, the small ones at most 64 MiB', () => {
  const sizes = view(spec([], 1 << 30)).flatMap((entry) => (entry.kind === 'tmpfs' ? [[entry.target, entry.sizeBytes]] : []))
  expect(Object.fromEntries(sizes)).toMatchObject({ '/tmp': 1 << 30, '/workspace': 1 << 30, '/dev/shm': 64 << 20, '/run': 64 << 20 })
})

test('its own cgroups are shown where programs look for them', () => {
  const entries = view(spec(), [{ directory: '/c/sbx', shownAt: '/sys/fs/cgroup/memory' }])
  expect(entries).toContainEqual({ kind: 'bind', source: '/c/sbx', target: '/sys/fs/cgroup/memory', mode: 'ro' })
})

test('a packed sandbox has the places of its sessions, no workspace, no home, no cgroup, and nothing to list', () => {
  const packed = { source: '/state/packed', firstUid: 2_100_000_000, count: 4, pidsPerUid: 8 }
  const cgroups = [{ directory: '/sys/fs/cgroup/memory/x', shownAt: '/sys/fs/cgroup/memory' }]
  const entries = view({ ...spec([{ source: '/a', target: '/workspace/skills', mode: 'ro' }]), packed }, cgroups)
  expect(entries).toContainEqual({ kind: 'bind', source: '/state/packed', target: '/sessions', mode: 'rw' })
  expect(targets(entries)).not.toContain('/home/user')
  expect(targets(entries).filter((target) => target.startsWith('/sys'))).toEqual([])
  // On the way to the mount only, and not to be written.
  expect(entries).toContainEqual({ kind: 'directory', target: '/workspace' })
  const writable = entries.flatMap((entry) => (entry.kind === 'tmpfs' ? [`${entry.target} ${entry.permissions} ${entry.owner}`] : []))
  expect(writable).toEqual(['/dev/shm 1733 root', '/tmp 1733 root', '/run 0755 root'])
})
