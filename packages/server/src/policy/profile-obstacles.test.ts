/** Profiles against what a backend can do. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { SandboxBackend } from '../sandboxes/backend.ts'
import { createPipelines } from './pipelines.ts'
import { profileObstacles } from './profile-obstacles.ts'
import { createProfiles } from './profiles.ts'
import type { Profile } from './profiles.ts'
import { sandboxPolicy } from './sandbox-policy.ts'

const limits = { cpus: null, memoryBytes: null, pids: null, tmpBytes: 2 ** 26, openFiles: 1024 }
const policy = sandboxPolicy({ image: 'python:3.11-slim', network: 'off', limits, hasImages: false })
/** As bubblewrap where there are no cgroups for it. */
const jail: Pick<SandboxBackend, 'check'> = {
  async check(spec) {
    const refuse = (what: string) => {
      throw new HoldfastError('capability_unsupported', `jail cannot ${what}`)
    }
    if (spec.rootfs === 'writable') refuse('give a writable root')
    if (spec.limits.cpus !== null && spec.limits.cpus < 1) refuse('limit the CPUs to less than one')
  },
}

function obstacles(settings: { usual?: string; custom?: readonly Profile[]; pipeline?: string }, backend = jail) {
  const profiles = createProfiles({ usual: settings.usual ?? null, image: null, custom: settings.custom ?? [] })
  const pipelines = createPipelines({
    settings: settings.pipeline === undefined ? {} : { support: { profile: settings.pipeline } },
    profiles,
  })
  return profileObstacles({ profiles, pipelines, policy, backend })
}
const custom = (changes: Partial<Profile>): Profile => ({
  ...createProfiles({ usual: null, image: null, custom: [] }).get('default'),
  name: 'mine',
  ...changes,
})

test('built-in profiles that cannot be honoured are told with the reason', async () => {
  expect([...(await obstacles({ usual: 'default', custom: [custom({})] }))]).toEqual([
    ['offline_readonly', 'jail cannot limit the CPUs to less than one'],
    ['network_extended', 'jail cannot give a writable root'],
  ])
})

test.each([
  [{ custom: [custom({ rootfs: 'writable' })] }, "profiles.mine: the profile 'mine' cannot be honoured: jail cannot give a writable root"],
  [{ usual: 'network_extended' }, "profile: the profile 'network_extended' cannot be honoured: jail cannot give a writable root"],
  [{ pipeline: 'network_extended' }, "pipelines.support.profile: the profile 'network_extended' cannot be honoured"],
])('one that is configured is refused at start: %#', async (settings, message) => {
  await expect(obstacles(settings)).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringContaining(message) })
})

test('an engine that is silent and an image that is missing are no reason against a profile', async () => {
  for (const code of ['image_missing', 'backend_unavailable'] as const) {
    const silent = {
      check: async () => {
        throw new HoldfastError(code, 'not now')
      },
    }
    expect((await obstacles({ custom: [custom({})] }, silent)).size).toBe(0)
  }
})
