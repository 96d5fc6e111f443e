/** The sections `profiles` and `pipelines` of the file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../config.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-profile-settings-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const load = (file: string, environment: Readonly<Record<string, string>> = {}) => {
  writeFileSync(join(home, 'holdfast.yaml'), file)
  return loadConfig({}, { HOLDFAST_HOME: home, ...environment })
}

test('there are none, and no profile is usual', () => {
  expect(load('')).toMatchObject({ profile: null, profiles: [], pipelines: {}, defaultWorkspace: null, isImageNamed: false })
})

test('a profile is read with every field', () => {
  const { profiles } = load(`
profiles:
  careful:
    image: alpine
    network: off
    rootfs: writable
    home: ephemeral
    workspace: ro
    limits: { cpus: 0.5, memory: 256m, pids: none, workspace: 100m }
    timeout_seconds: 10
    max_timeout_seconds: 20
    locked: [network, workspace.mode, limits.memory_bytes]
`)
  expect(profiles).toEqual([
    {
      ...{ name: 'careful', image: 'alpine', network: 'off', rootfs: 'writable', home: 'ephemeral', user: 'user', workspaceMode: 'ro' },
      ...{ cpus: 0.5, memoryBytes: 256 * 2 ** 20, pids: null, workspaceBytes: 100 * 2 ** 20, timeoutMs: 10_000, maxTimeoutMs: 20_000 },
      locked: ['network', 'workspace.mode', 'limits.memory_bytes'],
    },
  ])
})

test('what a profile leaves out is what the settings say', () => {
  const { profiles } = load('profiles: { plain: {}, long: { timeout_seconds: 600 } }\nnetwork: on\nlimits: { cpus: none, memory: 1g }')
  const plain = {
    ...{
      image: null,
      network: 'on',
      rootfs: 'read-only',
      home: 'persistent',
      user: 'user',
      workspaceMode: 'rw',
      cpus: null,
      memoryBytes: 2 ** 30,
      pids: 128,
    },
    ...{ workspaceBytes: null, locked: [] },
  }
  expect(profiles).toEqual([
    { ...plain, name: 'plain', timeoutMs: 120_000, maxTimeoutMs: 120_000 },
    { ...plain, name: 'long', timeoutMs: 600_000, maxTimeoutMs: 600_000 },
  ])
})

test('pipelines are read with their scope, profile and skills', () => {
  const file = "pipelines: { support: { scope: '{sender_id}', profile: default, skills: [pdf] }, sales: {} }"
  expect(load(file).pipelines).toEqual({ support: { scope: '{sender_id}', profile: 'default', skills: ['pdf'] }, sales: {} })
})

test('an image is known to be named by a person', () => {
  expect(load('image: alpine').isImageNamed).toBe(true)
  expect(load('', { HOLDFAST_IMAGE: 'python:3.11-slim' }).isImageNamed).toBe(true)
})

test.each([
  [
    'profiles: { careful: { limits: { cpus: many } } }',
    'profiles.careful.limits.cpus: must be a number of processors such as 0.5 or 2, or none',
  ],
  ['profiles: { careful: { limits: { memory: 1 } } }', 'profiles.careful.limits.memory: must be at least 16777216 bytes'],
  ['profiles: { careful: { limits: { disk: 1 } } }', 'profiles.careful.limits.disk: is not a known field'],
  ['profiles: { careful: { netwrok: on } }', 'profiles.careful.netwrok: is not a known field'],
  ['profiles: { careful: { network: maybe } }', 'profiles.careful.network: must be "off" or "on"'],
  ['profiles: { careful: { home: kept } }', 'profiles.careful.home: must be persistent or ephemeral'],
  ['profiles: { careful: { rootfs: ro } }', 'profiles.careful.rootfs: must be read-only or writable'],
  ['profiles: { careful: { locked: [netwrok] } }', 'profiles.careful.locked.0: must be one of image, network'],
  [
    'profiles: { careful: { timeout_seconds: 10, max_timeout_seconds: 5 } }',
    'careful.max_timeout_seconds: must be at least timeout_seconds',
  ],
  ['profiles: { careful: { max_timeout_seconds: 3601 } }', 'profiles.careful.max_timeout_seconds: must be at most 3600 (one hour)'],
  ['profiles: { careful: ro }', 'profiles.careful: must be a mapping of the profile’s values'],
  ['profiles: { Careful One: {} }', 'profiles.Careful One: a name must be 1 to 63 of a-z'],
  ['profiles: [careful]', 'must be a mapping of names to their values'],
  ['pipelines: { a: { skills: pdf } }', 'pipelines.a.skills: must be a list of skills'],
  ['pipelines: { a: { prompt: x } }', 'pipelines.a.prompt: is not a known field'],
  ['profile: No Profile', 'profile "No Profile" must be 1 to 63 of a-z'],
  ['default_workspace: here', 'default_workspace "here" must be an absolute path'],
])('%s is refused, naming the field', (file, sentence) => {
  expect(() => load(file)).toThrow(expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(sentence) }))
})

test('a section has no place in the environment', () => {
  expect(() => load('', { HOLDFAST_PROFILES: 'careful' })).toThrow('HOLDFAST_PROFILES "careful" must be a mapping of names to their values')
})
