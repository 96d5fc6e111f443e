/** A wish becomes a spec by the profile, the settings and the allowed mounts; locked fields are the profile's. */
import { describe, expect, test } from 'vitest'
import { CONTEXT } from '../contract/script.ts'
import type { BoxSpecInput } from '../calls/session-calls.ts'
import { findProfile } from './profiles.ts'
import { readBoxSettings } from './settings.ts'
import { buildSpec } from './spec.ts'

const NAMESPACE = 'ws-2db0470dd734a3cfd13ed6b1'

function build(wish: Partial<BoxSpecInput> = {}, local: Record<string, unknown> = {}) {
  const settings = readBoxSettings({ local }, false)
  return buildSpec({ settings, profile: findProfile(settings.profile) }, CONTEXT, { session_id: 's1', ...wish })
}

describe('the profile', () => {
  const TABLE = {
    default: ['off', 'rw', 1, 512, 128, true, 120],
    offline_readonly: ['off', 'ro', 0.5, 256, 64, true, 60],
    network_basic: ['on', 'rw', 1, 512, 128, true, 120],
    network_extended: ['on', 'rw', 2, 1024, 256, false, 300],
  }
  test.each(Object.entries(TABLE))('%s fills what is absent and bounds the time', (profile, row) => {
    const [network, mode, cpus, memory, pids, rootfs, longest] = row
    expect(build({ timeout_sec: 1000 }, { profile })).toMatchObject({
      ...{ network, host_path_mode: mode, cpus, memory_mb: memory, pids_limit: pids, read_only_rootfs: rootfs, timeout_sec: longest },
      ...{ image: 'rockchin/langbot-sandbox:latest', workspace_quota_mb: 0 },
    })
    expect(build({}, { profile }).timeout_sec).toBe(30)
  })

  test('a caller changes what is not locked, and nothing that is', () => {
    const wish = { network: 'on', host_path_mode: 'rw', read_only_rootfs: false, memory_mb: 64 } as const
    expect(build(wish)).toMatchObject(wish)
    expect(build(wish, { profile: 'offline_readonly' })).toMatchObject({
      ...{ network: 'off', host_path_mode: 'ro', read_only_rootfs: true, memory_mb: 64 },
    })
  })

  test('that nobody knows is refused, with those there are', () => {
    expect(() => build({}, { profile: 'wide_open' })).toThrow(/"wide_open", and the profiles are: default, offline_readonly/)
  })
})

test('the image is the caller’s, else the settings’, else the profile’s', () => {
  expect(build({ image: 'mine' }, { image: 'ours' }).image).toBe('mine')
  expect(build({}, { image: 'ours' }).image).toBe('ours')
})

describe('the workspace', () => {
  test('is the tenant’s directory below the default one', () => {
    expect(build({}, { host_root: '/srv/box' })).toMatchObject({ host_path: `/srv/box/default/tenants/${NAMESPACE}` })
    expect(build({}, { host_root: '/srv/box', default_workspace: 'work' }).host_path).toBe(`/srv/box/work/tenants/${NAMESPACE}`)
    expect(build({}, { host_root: '/srv/box', default_workspace: '/srv/box/w', workspace_quota_mb: 9 })).toMatchObject({
      ...{ host_path: `/srv/box/w/tenants/${NAMESPACE}`, workspace_quota_mb: 9 },
    })
  })

  test('is the session’s own without one', () => {
    expect(build().host_path).toBeNull()
  })

  test('relative directories are refused for a remote server, which has other ones', () => {
    expect(() => readBoxSettings({ local: { host_root: './data/box' } }, false)).toThrow('box.local.host_root must be absolute')
    expect(readBoxSettings({ local: { host_root: './data/box' } }, true).defaultWorkspace).toMatch(/\/data\/box\/default$/)
  })
})

describe('mounts', () => {
  const local = { allowed_mount_roots: ['/srv/box', '/tmp'] }
  const extra = (path: string) => ({ extra_mounts: [{ host_path: path, mount_path: '/data', mode: 'ro' as const }] })

  test.each(['/srv/box', '/srv/box/a', '/tmp/x/../y'])('%s is allowed', (path) => {
    expect(build({ host_path: path }, local).host_path).toBe(path)
    expect(build(extra(path), local).extra_mounts).toHaveLength(1)
  })

  test.each(['/', '/etc', '/srv', '/srv/boxes', '/srv/box/../other', '/tmp/../etc', 'C:\\data'])(
    '%s is refused, for every mount',
    (path) => {
      expect(() => build({ host_path: path }, local)).toThrow(`host_path "${path}" is outside of box.local.allowed_mount_roots`)
      expect(() => build(extra(path), local)).toThrow(`host_path "${path}" is outside of box.local.allowed_mount_roots`)
    },
  )

  test('a path of another system is never below one of ours', () => {
    expect(() => build({ host_path: 'C:\\data' }, { allowed_mount_roots: ['/'] })).toThrow('outside of box.local.allowed_mount_roots')
  })

  test('none is allowed when no root is', () => {
    expect(() => build({ host_path: '/tmp' })).toThrow('none is allowed')
    expect(() => build({ host_path: '/tmp' }, { host_root: '/srv', allowed_mount_roots: '' })).toThrow('none is allowed')
  })
})

test('only the first thing that is wrong is told', () => {
  expect(() => build({ memory_mb: 1, pids_limit: 0 })).toThrow(/^memory_mb must be at least 32$/)
})
