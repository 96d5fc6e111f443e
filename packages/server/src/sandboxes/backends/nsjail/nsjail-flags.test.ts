/** The same view and the same users as bubblewrap's, in nsjail's words. */
import { expect, test } from 'vitest'
import { nsjailFlags } from './nsjail-flags.ts'

const ROOT = { isRoot: true, uid: 0, gid: 0 }
const PERSON = { isRoot: false, uid: 501, gid: 20 }

test('as root the guest and the commands are two unprivileged users', () => {
  const line = nsjailFlags([], ROOT, { mounts: [] }).join(' ')
  expect(line).toContain('--user 0:65533:1 --group 0:65533:1 --user 1000:1000:1 --group 1000:1000:1')
  expect(line.endsWith('-- /.holdfast/guest serve --listen-fd 3 --uid 1000 --gid 1000')).toBe(true)
})

test('without root the server is the only user', () => {
  const line = nsjailFlags([], PERSON, { mounts: [] }).join(' ')
  expect(line).toContain('--user 1000:501:1 --group 1000:20:1')
  expect(line).not.toContain('--cap ')
  expect(line.endsWith('-- /.holdfast/guest serve --listen-fd 3')).toBe(true)
})

test('no namespace is given up, no time limit, the socket is the only descriptor passed', () => {
  const line = nsjailFlags([], ROOT, { mounts: [] }).join(' ')
  expect(line).not.toContain('--disable_clone')
  expect(line).not.toContain('--keep')
  expect(line).toContain('--time_limit 0')
  expect(line.match(/--pass_fd \d+/g)).toEqual(['--pass_fd 3'])
})

test('entries are spelled in their order', () => {
  const line = nsjailFlags(
    [
      { kind: 'bind', from: { path: '/mnt/0' }, target: '/usr', mode: 'ro' },
      { kind: 'symlink', target: '/bin', to: 'usr/bin' },
      { kind: 'bind', from: { path: '/mnt/1' }, target: '/data', mode: 'rw' },
    ],
    ROOT,
    { mounts: [] },
  ).join(' ')
  expect(line).toContain('--bindmount_ro /mnt/0:/usr --symlink usr/bin:/bin --bindmount /mnt/1:/data')
})

test('a target with a colon is refused, because nsjail would split it', () => {
  const flags = () => nsjailFlags([{ kind: 'bind', from: { path: '/mnt/0' }, target: '/data/a:b', mode: 'ro' }], ROOT, { mounts: [] })
  expect(flags).toThrow(expect.objectContaining({ code: 'capability_unsupported', message: expect.stringContaining('/data/a:b') }))
})

test('a packed sandbox has users of a range and no default one', () => {
  const line = nsjailFlags([], ROOT, {
    mounts: [],
    packed: { source: '/state/packed', firstUid: 2_100_000_000, count: 4, pidsPerUid: 8 },
  }).join(' ')
  expect(line).toContain('--user 0:65533:1 --group 0:65533:1 --user 2100000000:2100000000:4 --group 2100000000:2100000000:4')
  expect(line).not.toContain('1000:1000')
  expect(line.endsWith('-- /.holdfast/guest serve --listen-fd 3 --first-user 2100000000 --user-count 4 --user-processes 8')).toBe(true)
})

test.each([ROOT, PERSON])('for %o the guest is told where space is watched', (identity) => {
  expect(nsjailFlags([], identity, { mounts: [], refusesReserving: true }).at(-1)).toBe('--refuse-reserving')
  expect(nsjailFlags([], identity, { mounts: [] })).not.toContain('--refuse-reserving')
})
