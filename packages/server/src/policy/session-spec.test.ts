/** From a wish to what a session is made with. */
import type { SandboxWish } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { bareGuestBackend, BARE_CAPABILITIES } from '../../../../test/model/bare-guest-backend.ts'
import type { Capabilities } from '../sandboxes/backend.ts'
import { configuredOnly } from './contract/configured-only.ts'
import { createPipelines } from './pipelines.ts'
import { createProfiles } from './profiles.ts'
import { sandboxPolicy } from './sandbox-policy.ts'
import { sessionSpecs } from './session-spec.ts'

const limits = { cpus: 1, memoryBytes: 2 ** 29, pids: 128, tmpBytes: 2 ** 26, openFiles: 1024 }
const profiles = createProfiles({ usual: null, image: null, custom: [] })
const alone = { tenantId: 'tnt_a', owner: 'ada', isPacked: false }
const packed = { ...alone, isPacked: true }
const backend = bareGuestBackend('/nowhere', '/nowhere')

interface Differs {
  readonly workspace?: string | null
  readonly capabilities?: Partial<Capabilities>
  readonly mayRaiseLimits?: boolean
}

function specsOf({ workspace = null, capabilities = {}, mayRaiseLimits = true }: Differs = {}) {
  const looked: SandboxWish[] = []
  const specs = sessionSpecs({
    policy: sandboxPolicy({ image: 'i', network: 'off', limits, hasImages: false }),
    chosen: {
      ...{ backend, version: '', passedOver: [] },
      capabilities: { ...BARE_CAPABILITIES, packing: true, ...capabilities },
    },
    ...configuredOnly(profiles, createPipelines({ settings: { support: { profile: 'offline_readonly' } }, profiles })),
    mounts: {
      async of(wish, _whose, own) {
        looked.push(wish)
        return own
      },
      withOwners: async (mounts) => mounts,
    },
    defaultWorkspace: workspace === null ? null : { of: (tenantId) => `${workspace}/${tenantId}`, make: async () => {} },
    packedSessions: 4,
    mayRaiseLimits,
  })
  return { ...specs, looked }
}

test('without a profile a wish is completed with the server’s values, and commands have no bound', async () => {
  const wish = await specsOf().complete({}, alone)
  expect(wish).toEqual({
    ...{ network: 'off', rootfs: 'read-only', home: 'persistent', workspace: { mode: 'rw' } },
    limits: { cpus: 1, memory_bytes: 2 ** 29, pids: 128, tmp_bytes: 2 ** 26, open_files: 1024 },
  })
})

test('a profile is recorded with its times, and the rest is the server’s', async () => {
  expect(await specsOf().complete({ profile: 'network_extended' }, alone)).toEqual({
    ...{ profile: 'network_extended', network: 'on', rootfs: 'writable', home: 'persistent', user: 'user', workspace: { mode: 'rw' } },
    ...{ timeout_ms: 120_000, max_timeout_ms: 300_000 },
    limits: { cpus: 2, memory_bytes: 2 ** 30, pids: 256, tmp_bytes: 2 ** 26, open_files: 1024 },
  })
})

test('a pipeline’s profile holds unless the wish names one', async () => {
  expect(await specsOf().complete({ pipeline: 'support' }, alone)).toMatchObject({
    ...{ pipeline: 'support', profile: 'offline_readonly', skills: [] },
  })
  expect(await specsOf().complete({ pipeline: 'support', profile: 'default' }, alone)).toMatchObject({ profile: 'default' })
  await expect(specsOf().complete({ pipeline: 'sales' }, alone)).rejects.toThrow(expect.objectContaining({ code: 'pipeline_unknown' }))
})

test('the default workspace is that of the tenant, for those who name none and do not share a sandbox', async () => {
  const { complete } = specsOf({ workspace: '/srv' })
  expect((await complete({}, alone)).workspace).toEqual({ source: '/srv/tnt_a', mode: 'rw' })
  expect((await complete({ profile: 'offline_readonly' }, alone)).workspace).toEqual({ source: '/srv/tnt_a', mode: 'ro' })
  expect((await complete({ workspace: { source: '/mine' } }, alone)).workspace).toEqual({ source: '/mine', mode: 'rw' })
  expect((await complete({ workspace: { mode: 'none' } }, alone)).workspace).toEqual({ mode: 'none' })
  expect((await complete({}, packed)).workspace).toEqual({ mode: 'rw' })
})

test('what is wished of the host is looked at before anything is made', async () => {
  const { check, complete, looked } = specsOf()
  const wish = await complete({ mounts: [{ source: '/a', target: '/mnt/a', mode: 'ro' }] }, alone)
  await check(wish, alone)
  expect(looked).toEqual([wish])
})

test.each([
  [{ workspace: { source: '/a' } }, 'a directory of the host would be one that all of them share'],
  [{ mounts: [{ source: '/a', target: '/mnt/a', mode: 'ro' }] }, 'a directory of the host would be one that all of them share'],
  [{ home: 'ephemeral' }, 'their homes are directories on disk'],
  [{ rootfs: 'writable' }, 'a writable root is a place that all of them share'],
  [{ profile: 'offline_readonly' }, 'their workspaces are writable'],
] as const)('%j is refused to sessions that share a sandbox', async (wish, why) => {
  const { check, complete } = specsOf()
  await expect(check(await complete(wish, packed), packed)).rejects.toMatchObject({
    ...{ code: 'capability_unsupported', message: `bubblewrap cannot pack sessions: ${why}` },
  })
  await check(await complete(wish, alone), alone)
})

test('a backend that cannot pack says why', async () => {
  const { check, complete } = specsOf({ capabilities: { packing: false, reasons: { packing: 'it has one user' } } })
  await expect(check(await complete({}, packed), packed)).rejects.toThrow('bubblewrap cannot pack sessions: it has one user')
})

describe('a server that is not root', () => {
  const { complete } = specsOf({ mayRaiseLimits: false })

  test.each([
    [{ memory_bytes: null }, 'limits.memory_bytes none is more than 536870912'],
    [{ memory_bytes: 2 ** 30 }, 'limits.memory_bytes 1073741824 is more than 536870912'],
    [{ pids: 129 }, 'limits.pids 129 is more than 128'],
    [{ open_files: 2048 }, 'limits.open_files 2048 is more than 1024'],
  ])('lets no caller raise %j', async (asked, message) => {
    await expect(complete({ limits: asked }, alone)).rejects.toThrow(
      expect.objectContaining({ code: 'capability_unsupported', message: expect.stringContaining(message) }),
    )
    expect((await specsOf().complete({ limits: asked }, alone)).limits).toMatchObject(asked)
  })

  test('takes smaller limits, and those of a profile', async () => {
    expect((await complete({ limits: { memory_bytes: 2 ** 20, pids: 8, cpus: 4 } }, alone)).limits).toMatchObject({
      memory_bytes: 2 ** 20,
      pids: 8,
      cpus: 4,
    })
    expect((await complete({ profile: 'network_extended' }, alone)).limits).toMatchObject({ memory_bytes: 2 ** 30, pids: 256 })
    await expect(complete({ profile: 'network_extended', limits: { pids: 257 } }, alone)).rejects.toThrow(
      'limits.pids 257 is more than 256',
    )
  })
})
