/** An open session against a new wish. */
import { expect, test } from 'vitest'
import { checkCompatible } from './compatible.ts'

const session = {
  wish: { image: 'a', network: 'off', limits: { cpus: 1, memory_bytes: 2 ** 29, pids: null, tmp_bytes: 2 ** 26, open_files: 1024 } },
  pack: null,
  ownerGroup: 'lab',
} as const

test('what is not named, or named alike, is compatible', () => {
  expect(() => checkCompatible({ wish: {} }, session)).not.toThrow()
  expect(() => checkCompatible({ wish: { image: 'a', network: 'off', limits: { cpus: 1, pids: null } } }, session)).not.toThrow()
  expect(() => checkCompatible({ wish: {}, pack: 'team', ownerGroup: 'lab' }, { ...session, pack: 'team' })).not.toThrow()
})

test('every field that differs is named with both values', () => {
  const wish = { image: 'b', network: 'on', limits: { cpus: null, memory_bytes: 2 ** 30 } } as const
  expect(() => checkCompatible({ wish, pack: 'team' }, session)).toThrow(
    'the session exists with other values of image (b, but the session has a), network (on, but the session has off), limits.cpus (none, but the session has 1), limits.memory_bytes (1073741824, but the session has 536870912), pack (team, but the session has none)',
  )
})

test('a session of a group is not given as one of nobody’s', () => {
  expect(() => checkCompatible({ wish: {}, ownerGroup: null }, session)).toThrow('owner_group (none, but the session has lab)')
})

const shaped = {
  ...session,
  wish: {
    ...session.wish,
    ...({ profile: 'p', pipeline: 'a', rootfs: 'writable', workspace: { source: '/s', mode: 'ro', target: '/mnt/s' } } as const),
    mounts: [
      { source: '/a', target: '/mnt/a', mode: 'ro' },
      { source: '/b', target: '/mnt/b', mode: 'rw' },
    ] as const,
    limits: { ...session.wish.limits, workspace_bytes: 2 ** 20 },
  },
}

test('profile, root, workspace and mounts are compared as they are named, whatever the order; the pipeline is not', () => {
  const { profile, rootfs, workspace, mounts, limits } = shaped.wish
  expect(() => checkCompatible({ wish: { pipeline: 'b' } }, shaped)).not.toThrow()
  expect(() => checkCompatible({ wish: { profile, rootfs, workspace, mounts: mounts.toReversed(), limits } }, shaped)).not.toThrow()
  expect(() => checkCompatible({ wish: { workspace: { mode: 'ro' } } }, shaped)).not.toThrow()
})

test.each([
  [{ profile: 'q' }, 'profile (q, but the session has p)'],
  [{ rootfs: 'read-only' }, 'rootfs (read-only, but the session has writable)'],
  [{ workspace: { source: '/t' } }, 'workspace.source (/t, but the session has /s)'],
  [{ workspace: { mode: 'rw' } }, 'workspace.mode (rw, but the session has ro)'],
  [{ workspace: { target: '/workspace' } }, 'workspace.target (/workspace, but the session has /mnt/s)'],
  [{ mounts: [] }, 'mounts (none, but the session has /a at /mnt/a ro and /b at /mnt/b rw)'],
  [{ limits: { workspace_bytes: null } }, 'limits.workspace_bytes (none, but the session has 1048576)'],
] as const)('%j is another session', (wish, message) => {
  expect(() => checkCompatible({ wish }, shaped)).toThrow(message)
})

test('a session from before these could be wished is what it was', () => {
  const wish = {
    rootfs: 'read-only',
    workspace: { mode: 'rw', target: '/workspace' },
    mounts: [],
    limits: { workspace_bytes: null },
  } as const
  expect(() => checkCompatible({ wish }, session)).not.toThrow()
  expect(() => checkCompatible({ wish: { profile: 'p' } }, session)).toThrow('profile (p, but the session has none)')
})
