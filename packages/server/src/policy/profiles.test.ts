/** Profiles laid under wishes. */
import { expect, test } from 'vitest'
import { BUILT_IN_PROFILES, createProfiles } from './profiles.ts'
import type { Profile, ProfileSettings } from './profiles.ts'

const MEBIBYTE = 1024 * 1024
const profilesOf = (settings: Partial<ProfileSettings> = {}) => createProfiles({ usual: null, image: null, custom: [], ...settings })
const profiles = profilesOf()
const customOf = (changes: Partial<Profile>): Profile => ({ ...profiles.get('default'), name: 'mine', ...changes })

test.each([
  ['default', 'off', 'rw', 1, 512, 128, 'read-only', 120, []],
  ['offline_readonly', 'off', 'ro', 0.5, 256, 64, 'read-only', 60, ['network', 'workspace.mode', 'rootfs', 'home']],
  ['network_basic', 'on', 'rw', 1, 512, 128, 'read-only', 120, []],
  ['network_extended', 'on', 'rw', 2, 1024, 256, 'writable', 300, []],
])('%s is built in with its values', (name, network, workspaceMode, cpus, mebibytes, pids, rootfs, maxSeconds, locked) => {
  expect(profiles.get(name)).toEqual({
    ...{ name, image: null, network, workspaceMode, cpus, memoryBytes: mebibytes * MEBIBYTE, pids, rootfs, workspaceBytes: null, locked },
    ...{
      user: 'user',
      timeoutMs: 120_000,
      maxTimeoutMs: maxSeconds * 1000,
      home: name === 'offline_readonly' ? 'ephemeral' : 'persistent',
    },
  })
})

test('there are four, and they are offered in this order', () => {
  const names = ['default', 'offline_readonly', 'network_basic', 'network_extended']
  expect(BUILT_IN_PROFILES.map(({ name }) => name)).toEqual(names)
  expect(
    profilesOf({ custom: [customOf({})] })
      .all()
      .map(({ name }) => name),
  ).toEqual([...names, 'mine'])
})

test('without a profile a wish stays as it is', () => {
  const wish = { network: 'on' } as const
  expect(profiles.apply(undefined, wish)).toBe(wish)
  expect(profiles.timesOf(undefined)).toEqual({})
})

test('a profile fills what is absent, and a value of the caller’s stays', () => {
  expect(profiles.apply('network_extended', {})).toEqual({
    ...{ profile: 'network_extended', network: 'on', rootfs: 'writable', home: 'persistent', user: 'user', workspace: { mode: 'rw' } },
    limits: { cpus: 2, memory_bytes: 1024 * MEBIBYTE, pids: 256 },
  })
  const wish = {
    network: 'off',
    rootfs: 'read-only',
    home: 'ephemeral',
    workspace: { source: '/a', mode: 'ro' },
    limits: { cpus: null, pids: 9 },
  } as const
  expect(profiles.apply('network_extended', wish)).toEqual({
    ...{
      profile: 'network_extended',
      network: 'off',
      rootfs: 'read-only',
      home: 'ephemeral',
      user: 'user',
      workspace: { source: '/a', mode: 'ro' },
    },
    limits: { cpus: null, memory_bytes: 1024 * MEBIBYTE, pids: 9 },
  })
  expect(profiles.apply('default', { limits: { cpus: undefined } }).limits).toMatchObject({ cpus: 1 })
})

test('the usual profile is that of wishes that name none', () => {
  expect(profilesOf({ usual: 'network_basic' }).apply(undefined, {})).toMatchObject({ profile: 'network_basic', network: 'on' })
  expect(profilesOf({ usual: 'network_basic' }).apply('default', {})).toMatchObject({ profile: 'default', network: 'off' })
})

test('a locked field refuses another value, naming both, and takes its own', () => {
  const wish = { network: 'on', rootfs: 'writable', home: 'persistent', workspace: { mode: 'rw' } } as const
  expect(() => profiles.apply('offline_readonly', wish)).toThrow(
    expect.objectContaining({
      code: 'profile_locked',
      message:
        "the profile 'offline_readonly' does not allow another value of network (on; it is off), workspace.mode (rw; it is ro), rootfs (writable; it is read-only), home (persistent; it is ephemeral)",
      details: { profile: 'offline_readonly', fields: ['network', 'workspace.mode', 'rootfs', 'home'] },
    }),
  )
  const same = { network: 'off', rootfs: 'read-only', workspace: { mode: 'ro' }, limits: { pids: 9 } } as const
  expect(profiles.apply('offline_readonly', same)).toMatchObject({ limits: { pids: 9 } })
})

test.each([
  [{ mounts: [{ source: '/a', target: '/mnt/a', mode: 'rw' }] }, 'mounts.0.mode'],
  [{ workspace: { source: '/a', target: '/mnt/a' } }, 'workspace.target'],
  [{ workspace: { mode: 'none' } }, 'workspace.mode'],
] as const)('a workspace locked to be read-only is not to be had writable by %j', (wish, field) => {
  expect(() => profiles.apply('offline_readonly', wish)).toThrow(
    expect.objectContaining({ code: 'profile_locked', details: { profile: 'offline_readonly', fields: [field] } }),
  )
  expect(profiles.apply('offline_readonly', { mounts: [{ source: '/a', target: '/mnt/a', mode: 'ro' }] })).toMatchObject({ network: 'off' })
})

test('every lockable field can be locked', () => {
  const locked = [
    ...(['image', 'network', 'rootfs', 'workspace.mode', 'limits.cpus', 'limits.memory_bytes'] as const),
    ...(['limits.pids', 'limits.workspace_bytes'] as const),
  ]
  const strict = profilesOf({ custom: [customOf({ locked, image: 'a', workspaceBytes: 2 ** 20 })] })
  const other = {
    ...({ image: 'b', network: 'on', rootfs: 'writable', workspace: { mode: 'ro' } } as const),
    limits: { cpus: 2, memory_bytes: null, pids: 1, workspace_bytes: null },
  }
  expect(() => strict.apply('mine', other)).toThrow(expect.objectContaining({ details: { profile: 'mine', fields: locked } }))
  expect(strict.apply('mine', { image: 'a', limits: { workspace_bytes: 2 ** 20 } })).toMatchObject({ image: 'a' })
})

test('the image is the caller’s, else the operator’s, else the profile’s', () => {
  const custom = [customOf({ image: 'of-profile' })]
  expect(profilesOf({ custom }).apply('mine', {}).image).toBe('of-profile')
  expect(profilesOf({ custom, image: 'of-operator' }).apply('mine', {}).image).toBe('of-operator')
  expect(profilesOf({ custom, image: 'of-operator' }).apply('mine', { image: 'of-caller' }).image).toBe('of-caller')
  expect(profiles.apply('default', {}).image).toBeUndefined()
})

test('a bound of the workspace that a profile does not have is left to the server', () => {
  expect(profiles.apply('default', {}).limits).not.toHaveProperty('workspace_bytes')
  expect(profilesOf({ custom: [customOf({ workspaceBytes: 2 ** 20 })] }).apply('mine', {}).limits).toMatchObject({
    workspace_bytes: 2 ** 20,
  })
})

test('times are those of the profile, and none is longer than it allows', () => {
  expect(profiles.timesOf('offline_readonly')).toEqual({ timeout_ms: 60_000, max_timeout_ms: 60_000 })
  expect(profiles.clampTimeout('offline_readonly', 90_000)).toBe(60_000)
  expect(profiles.clampTimeout('offline_readonly', 1000)).toBe(1000)
  expect(profiles.clampTimeout(undefined, 90_000)).toBe(90_000)
})

test('one that is configured under a built-in name takes its place', () => {
  const own = profilesOf({ custom: [customOf({ name: 'default', network: 'on' })] })
  expect(own.get('default').network).toBe('on')
  expect(own.all()).toHaveLength(4)
  expect([own.isBuiltIn('default'), own.isBuiltIn('network_basic'), own.isBuiltIn('nothing')]).toEqual([false, true, false])
})

test('one that is not there is refused with those that are', () => {
  expect(() => profiles.apply('fast', {})).toThrow(
    expect.objectContaining({
      code: 'profile_unknown',
      message: "profile: there is no profile 'fast'; there are default, offline_readonly, network_basic, network_extended",
    }),
  )
  expect(() => profilesOf({ usual: 'fast' })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
})

test('user: root brings a writable root unless the profile locks it, and can be locked itself', () => {
  expect(profiles.apply('default', { user: 'root' })).toMatchObject({ user: 'root', rootfs: 'writable' })
  expect(profiles.apply('default', { user: 'root', rootfs: 'read-only' })).toMatchObject({ user: 'root', rootfs: 'read-only' })
  expect(profiles.apply('offline_readonly', { user: 'root' })).toMatchObject({ user: 'root', rootfs: 'read-only' })
  const locked = createProfiles({ usual: null, image: null, custom: [{ ...profiles.get('default'), name: 'kept', locked: ['user'] }] })
  expect(locked.apply('kept', { user: 'user' })).toMatchObject({ user: 'user' })
  expect(() => locked.apply('kept', { user: 'root' })).toThrow('does not allow another value of user (root; it is user)')
})
