/** The isolation is in the flags: each of these, missing, would be a hole. */
import { expect, test } from 'vitest'
import type { Mount } from '../../spec.ts'
import { hidingFlags, jailUserFlags, stagingAsRoot } from '../jail/jail-user.ts'
import type { PlacedEntry } from '../jail/staging.ts'
import { bubblewrapFlags } from './bubblewrap-flags.ts'

const ENTRIES: readonly PlacedEntry[] = [
  { kind: 'bind', from: { path: '/mnt/0' }, target: '/usr', mode: 'ro' },
  { kind: 'bind', from: { descriptor: 11 }, target: '/data', mode: 'rw' },
  { kind: 'bind', from: { descriptor: 12 }, target: '/srv', mode: 'ro' },
  { kind: 'tmpfs', target: '/tmp', sizeBytes: 4096, permissions: '1777', owner: 'root' },
  { kind: 'directory', target: '/var' },
  { kind: 'symlink', target: '/bin', to: 'usr/bin' },
  { kind: 'proc' },
  { kind: 'dev' },
]

function line(network: 'off' | 'on', isRoot: boolean): string {
  return bubblewrapFlags(ENTRIES, { mounts: [], network }, isRoot).join(' ')
}

test.each([
  ['off', true],
  ['off', false],
  ['on', true],
  ['on', false],
] as const)('network %s, root %s: every namespace is new and the root is read-only', (network, isRoot) => {
  expect(line(network, isRoot)).toMatch(/^--unshare-all --unshare-user --as-pid-1 --new-session --clearenv --hostname sandbox /)
  expect(line(network, isRoot)).toContain(' --remount-ro /dev --remount-ro / --chdir / /.holdfast/guest serve --listen-fd 3')
  expect(line(network, isRoot)).not.toContain('--share-net')
})

test('entries are spelled in their order', () => {
  expect(line('off', true)).toContain(
    '--ro-bind /mnt/0 /usr --bind-fd 11 /data --ro-bind-fd 12 /srv --perms 1777 --size 4096 --tmpfs /tmp --perms 0755 --dir /var --symlink usr/bin /bin --proc /proc --dev /dev --remount-ro',
  )
})

test('as root the guest waits for its map and keeps only what it needs to change users and end processes', () => {
  expect(line('off', true)).toContain(
    '--userns-block-fd 0 --uid 0 --gid 0 --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_KILL --cap-add CAP_SETPCAP',
  )
  expect(line('off', true).endsWith('serve --listen-fd 3 --uid 1000 --gid 1000')).toBe(true)
})

test('without root there are no capabilities and one user', () => {
  expect(line('off', false)).toContain(' --uid 1000 --gid 1000 ')
  expect(line('off', false)).not.toContain('--cap-add')
  expect(line('off', false).endsWith('serve --listen-fd 3')).toBe(true)
})

test('with the network on the helper can see the monitor end', () => {
  expect(line('on', true)).toContain('--json-status-fd 5')
  expect(line('off', true)).not.toContain('--json-status-fd')
})

test('a packed sandbox has users of a range and no default one', () => {
  const packed = { source: '/state/packed', firstUid: 2_100_000_000, count: 4, pidsPerUid: 8 }
  const packedLine = bubblewrapFlags(ENTRIES, { mounts: [], network: 'off', packed }, true).join(' ')
  expect(packedLine.endsWith('serve --listen-fd 3 --first-user 2100000000 --user-count 4 --user-processes 8')).toBe(true)
  expect(jailUserFlags({ packed })).toEqual(['--jail-user', '65533', '--id-map', '0 65533 1\n2100000000 2100000000 4\n'])
  expect(hidingFlags({ packed })).toEqual(['--hide-processes', '65533'])
  expect(hidingFlags({})).toEqual([])
})

test('with host users of its own a sandbox is the same inside and somebody else outside', () => {
  const users = { commands: 2_010_000_000, guest: 2_010_000_001 }
  expect(bubblewrapFlags(ENTRIES, { mounts: [], network: 'off', users }, true)).toEqual(
    bubblewrapFlags(ENTRIES, { mounts: [], network: 'off' }, true),
  )
  expect(jailUserFlags({ users })).toEqual(['--jail-user', '2010000001', '--id-map', '0 2010000001 1\n1000 2010000000 1\n'])
  expect(stagingAsRoot({ users })).toMatchObject({
    owners: { user: 2_010_000_000, root: 2_010_000_001 },
    mapsOwners: true,
  })
  expect(stagingAsRoot({ users: { ...users, commands: 1000 } })).toMatchObject({ mapsOwners: false })
})

test.each([true, false])('as root %s: the guest is told where space is watched', (isRoot) => {
  const watched = bubblewrapFlags(ENTRIES, { mounts: [], network: 'off', refusesReserving: true }, isRoot)
  expect(watched.at(-1)).toBe('--refuse-reserving')
  expect(line('off', isRoot)).not.toContain('--refuse-reserving')
})

test('where files belong to another user of the host, the guest is told to refuse set-user-ID modes', () => {
  const shared = { source: '/srv/shared', target: '/workspace', mode: 'rw', owner: 0 } as const
  const flagsOf = (...mounts: readonly Mount[]) => bubblewrapFlags(ENTRIES, { mounts, network: 'off' }, true)
  expect(flagsOf(shared).at(-1)).toBe('--refuse-set-id')
  const { owner, ...own } = shared
  expect(flagsOf(own, { ...own, target: '/data', mode: 'ro', owner })).not.toContain('--refuse-set-id')
})
