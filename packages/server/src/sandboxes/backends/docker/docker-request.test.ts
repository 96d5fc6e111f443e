/** The create request, claim by claim: what isolates a container is all in here. */
import { expect, test } from 'vitest'
import type { SandboxSpec } from '../../spec.ts'
import type { ContainerWish, EngineTraits } from '../engine/container-plan.ts'
import { dockerBody } from './docker-request.ts'

const TRAITS: EngineTraits = { limitsSwap: true, ownsTmpfs: true, maxUserProcesses: null, isRootless: false, reachesContainers: true }

const SPEC: SandboxSpec = {
  image: 'python:3.11-slim',
  network: 'off',
  rootfs: 'read-only',
  mounts: [],
  limits: { cpus: 0.5, memoryBytes: 1000, pids: 64, tmpBytes: 4096, openFiles: 256 },
}

function body(spec: Partial<SandboxSpec> = {}, traits: Partial<EngineTraits> = {}, wish: Partial<ContainerWish> = {}) {
  return dockerBody({
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

test('the guest is the first process, told its socket and the user of commands', () => {
  const { Entrypoint, Cmd, User, WorkingDir, Image, Healthcheck } = body()
  expect(Entrypoint).toEqual(['/.holdfast/guest', 'serve', '--listen', '/.holdfast/run/guest.sock', '--uid', '1000', '--gid', '1001'])
  expect(body({ refusesReserving: true }).Entrypoint).toEqual([...Entrypoint, '--refuse-reserving'])
  expect({ Cmd, User, WorkingDir, Image, Healthcheck }).toEqual({
    Cmd: [],
    User: '0:0',
    WorkingDir: '/',
    Image: 'sha256:1',
    Healthcheck: { Test: ['NONE'] },
  })
})

test('all capabilities go but the four that the guest needs, and none can be gained', () => {
  expect(body().HostConfig).toMatchObject({
    CapDrop: ['ALL'],
    CapAdd: ['SETUID', 'SETGID', 'KILL', 'SETPCAP'],
    SecurityOpt: ['no-new-privileges'],
    Privileged: false,
  })
})

test('the network is off unless the spec says on', () => {
  expect(body().HostConfig.NetworkMode).toBe('none')
  expect(body({ network: 'on' }).HostConfig.NetworkMode).toBe('bridge')
})

test('the root is read-only unless the spec says writable', () => {
  expect(body().HostConfig.ReadonlyRootfs).toBe(true)
  expect(body({ rootfs: 'writable' }).HostConfig.ReadonlyRootfs).toBe(false)
})

test('every limit is passed on, and memory leaves no swap', () => {
  expect(body().HostConfig).toMatchObject({
    Memory: 1000,
    MemorySwap: 1000,
    NanoCpus: 500_000_000,
    PidsLimit: 64,
    ShmSize: 4096,
    Ulimits: [
      { Name: 'nofile', Soft: 256, Hard: 256 },
      { Name: 'core', Soft: 0, Hard: 0 },
    ],
  })
})

test('a limit that is not wished is absent, and processes are unlimited in so many words', () => {
  const { HostConfig } = body({ limits: { ...SPEC.limits, cpus: null, memoryBytes: null, pids: null } })
  expect(HostConfig).not.toHaveProperty('Memory')
  expect(HostConfig).not.toHaveProperty('MemorySwap')
  expect(HostConfig).not.toHaveProperty('NanoCpus')
  expect(HostConfig.PidsLimit).toBe(-1)
})

test('an engine without an account of swap is not asked to limit it', () => {
  const { HostConfig } = body({}, { limitsSwap: false })
  expect(HostConfig).toHaveProperty('Memory', 1000)
  expect(HostConfig).not.toHaveProperty('MemorySwap')
})

test('an engine with a process limit of its own is told a possible one', () => {
  expect(body({}, { maxUserProcesses: 30 }).HostConfig.Ulimits).toContainEqual({ Name: 'nproc', Soft: 30, Hard: 30 })
})

test('every writable place is a bounded tmpfs, and the socket directory lies below one that only root enters', () => {
  expect(body().HostConfig.Tmpfs).toEqual({
    '/.holdfast': 'size=65536,mode=0700,nosuid,nodev',
    '/tmp': 'size=4096,mode=1777,exec,nosuid,nodev',
    '/home/user': 'size=4096,mode=0755,uid=1000,gid=1001,exec,nosuid,nodev',
    '/workspace': 'size=4096,mode=0755,uid=1000,gid=1001,exec,nosuid,nodev',
  })
})

test('where a tmpfs cannot be given to a user it is open to all inside', () => {
  expect(body({}, { ownsTmpfs: false }).HostConfig.Tmpfs['/workspace']).toBe('size=4096,mode=1777,exec,nosuid,nodev')
})

test('a mount takes the place of the tmpfs at its target', () => {
  const { Tmpfs, Mounts } = body({ mounts: [{ source: '/data', target: '/workspace', mode: 'rw' }] }).HostConfig
  expect(Tmpfs).not.toHaveProperty(['/workspace'])
  expect(Mounts.at(-1)).toEqual({
    Type: 'bind',
    Source: '/data',
    Target: '/workspace',
    ReadOnly: false,
    BindOptions: { Propagation: 'rprivate', NonRecursive: true },
  })
})

test('mounts keep their order and their mode, without what is mounted below them', () => {
  const { Mounts } = body({
    mounts: [
      { source: '/data', target: '/workspace', mode: 'rw' },
      { source: '/skill', target: '/workspace/.skills/x', mode: 'ro' },
    ],
  }).HostConfig
  expect(Mounts.map((mount) => [mount.Source, mount.Target, mount.ReadOnly, mount.BindOptions.NonRecursive])).toEqual([
    ['/opt/guest', '/.holdfast/guest', true, true],
    ['/state/run', '/.holdfast/run', false, true],
    ['/data', '/workspace', false, true],
    ['/skill', '/workspace/.skills/x', true, true],
  ])
})

test('a volume that the image declares becomes a bounded tmpfs, except where a mount lies', () => {
  const { Tmpfs } = body(
    { mounts: [{ source: '/d', target: '/b', mode: 'ro' }] },
    {},
    { imageVolumes: ['/a', '/b', '/.holdfast'] },
  ).HostConfig
  expect(Tmpfs['/a']).toMatch(/^size=4096,/)
  expect(Tmpfs).not.toHaveProperty(['/b'])
  expect(Tmpfs['/.holdfast']).toMatch(/mode=0700/)
})

test('a packed container has the places of its sessions, no capability more, and nothing to list', () => {
  const packed = { source: '/state/packed', firstUid: 2_100_000_000, count: 4, pidsPerUid: 8 }
  const { Entrypoint, HostConfig } = body({ packed }, {}, { imageVolumes: ['/data'] })
  expect(Entrypoint.slice(4)).toEqual([
    ...['--first-user', '2100000000', '--user-count', '4', '--user-processes', '8'],
    ...['--unlisted', '/tmp', '--unlisted', '/dev/shm', '--unlisted', '/data'],
  ])
  expect(HostConfig.CapAdd).toEqual(body().HostConfig.CapAdd)
  expect(HostConfig.Mounts.map(({ Source, Target, ReadOnly }) => [Source, Target, ReadOnly])).toContainEqual([
    '/state/packed',
    '/sessions',
    false,
  ])
  expect(Object.keys(HostConfig.Tmpfs)).toEqual(['/.holdfast', '/tmp', '/dev/shm', '/dev/mqueue', '/sys/fs/cgroup', '/data'])
  for (const target of ['/tmp', '/dev/shm', '/data']) expect(HostConfig.Tmpfs[target]).toContain('mode=1733')
  for (const target of ['/dev/mqueue', '/sys/fs/cgroup']) expect(HostConfig.Tmpfs[target]).toMatch(/^ro,.*mode=0555/)
})
