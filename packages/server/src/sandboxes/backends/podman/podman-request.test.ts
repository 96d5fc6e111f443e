/** The same plan in Podman's words, claim by claim. */
import { expect, test } from 'vitest'
import type { SandboxSpec } from '../../spec.ts'
import type { ContainerWish, EngineTraits } from '../engine/container-plan.ts'
import { podmanBody } from './podman-request.ts'

const TRAITS: EngineTraits = { limitsSwap: true, ownsTmpfs: true, maxUserProcesses: 30, isRootless: false, reachesContainers: true }
const SPEC: SandboxSpec = {
  image: 'python:3.11-slim',
  network: 'off',
  rootfs: 'read-only',
  mounts: [{ source: '/da"ta', target: '/workspace', mode: 'ro' }],
  limits: { cpus: 0.5, memoryBytes: 1000, pids: 64, tmpBytes: 4096, openFiles: 256 },
}

function body(spec: Partial<SandboxSpec> = {}, traits: Partial<EngineTraits> = {}, wish: Partial<ContainerWish> = {}) {
  return podmanBody('holdfast-s-sbx', {
    spec: { ...SPEC, ...spec },
    user: { uid: 1000, gid: 1001 },
    traits: { ...TRAITS, ...traits },
    imageId: 'sha256:1',
    imageVolumes: [],
    guestPath: '/opt/guest',
    socketDirectory: '/state/run',
    hostsPath: '/state/hosts',
    labels: { 'holdfast.server': 's' },
    ...wish,
  })
}

test('nothing of the image but its files is used', () => {
  expect(body()).toMatchObject({ command: [], user: '0:0', work_dir: '/', healthconfig: { Test: ['NONE'] }, image_volume_mode: 'ignore' })
})

test('all capabilities go but the four that the guest needs, and none can be gained', () => {
  expect(body()).toMatchObject({
    cap_drop: ['ALL'],
    cap_add: ['SETUID', 'SETGID', 'KILL', 'SETPCAP'],
    no_new_privileges: true,
    privileged: false,
  })
})

test('the network is off unless the spec says on, and then what this Podman has', () => {
  expect(body().netns).toEqual({ nsmode: 'none' })
  expect(body({ network: 'on' }).netns).toEqual({ nsmode: 'bridge' })
  expect(body({ network: 'on' }, { isRootless: true }).netns).toEqual({ nsmode: 'slirp4netns' })
})

test('the root is read-only unless the spec says writable', () => {
  expect(body().read_only_filesystem).toBe(true)
  expect(body({ rootfs: 'writable' }).read_only_filesystem).toBe(false)
})

test('every limit is passed on, and memory leaves no swap', () => {
  expect(body()).toMatchObject({
    resource_limits: { memory: { limit: 1000, swap: 1000 }, cpu: { quota: 50_000, period: 100_000 }, pids: { limit: 64 } },
    shm_size: 4096,
    r_limits: [
      { type: 'nofile', soft: 256, hard: 256 },
      { type: 'core', soft: 0, hard: 0 },
      { type: 'nproc', soft: 30, hard: 30 },
    ],
  })
})

test('a limit that is not wished is absent, and processes are unlimited in so many words', () => {
  expect(body({ limits: { ...SPEC.limits, cpus: null, memoryBytes: null, pids: null } }).resource_limits).toEqual({ pids: { limit: -1 } })
})

test('mounts have no submounts, no setuid and no devices, and odd paths stay as they are', () => {
  expect(body().mounts.at(-1)).toEqual({
    type: 'bind',
    source: '/da"ta',
    destination: '/workspace',
    options: ['bind', 'rprivate', 'nosuid', 'nodev', 'ro'],
  })
})

test("the host's names are replaced by the sandbox's own", () => {
  expect(body().mounts).toContainEqual({
    type: 'bind',
    source: '/state/hosts',
    destination: '/etc/hosts',
    options: ['bind', 'rprivate', 'nosuid', 'nodev', 'ro'],
  })
})

test('a tmpfs is bounded and empty', () => {
  expect(body().mounts).toContainEqual({
    type: 'tmpfs',
    source: 'tmpfs',
    destination: '/tmp',
    options: ['size=4096', 'mode=1777', 'exec', 'nosuid', 'nodev', 'notmpcopyup'],
  })
})

test('a rootless Podman keeps the id of its user', () => {
  expect(body({}, { isRootless: true })).toMatchObject({ userns: { nsmode: 'keep-id' } })
  expect(body()).not.toHaveProperty('userns')
})

test('with user: root the guest makes users of its own, in a root that is not the image as it is', () => {
  const users = { commands: 2_010_000_000, guest: 2_010_000_001, system: 2_020_000_000 }
  const made = body({ user: 'root', rootfs: 'writable', users }, {}, { rootPath: '/state/merged' })
  expect(made).toMatchObject({ rootfs: '/state/merged', user: '0:0', cap_add: ['SETUID', 'SETGID', 'KILL', 'SETPCAP'] })
  expect(made.entrypoint.join(' ')).toContain('--own-users 2010000001 --uid 0 --gid 0')
  expect(made).not.toHaveProperty('image')
  expect(made).not.toHaveProperty('userns')
})
