/** What Docker may say about itself, and what is made of it. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptedEngine, VERSION_ANSWER } from '../engine/scripted-engine.ts'
import { dockerBackend } from './docker-backend.ts'

const NEEDS = { serverId: 's', stateDir: '/nowhere', guestPath: '/nowhere/guest', launcherPath: '/nowhere/launcher' }
const HEALTHY = {
  OSType: 'linux',
  OperatingSystem: 'Debian GNU/Linux 12',
  CgroupDriver: 'systemd',
  MemoryLimit: true,
  SwapLimit: true,
  CpuCfsPeriod: true,
  CpuCfsQuota: true,
  PidsLimit: true,
  SecurityOptions: ['name=apparmor', 'name=seccomp,profile=builtin', 'name=cgroupns'],
}

async function probed(info: object, networks: readonly string[] = ['bridge', 'none'], version: object = VERSION_ANSWER) {
  await using engine = await scriptedEngine({
    '/version': (_request, response) => response.end(JSON.stringify(version)),
    '/info': (_request, response) => response.end(JSON.stringify({ ...HEALTHY, ...info })),
    '/networks': (_request, response) => response.end(JSON.stringify(networks.map((Name) => ({ Name })))),
  })
  return await dockerBackend(NEEDS, { socket: `unix://${engine.path}` }).probe()
}

test('a healthy engine is available with everything that is the engine’s', async () => {
  expect(await probed({})).toEqual({
    available: true,
    version: '27.0.0',
    capabilities: {
      limits: { cpus: true, memory: true, pids: true },
      networkOn: true,
      images: true,
      // Nor can it see the engine's images.
      writableRoot: false,
      rootUser: false,
      severalUsers: true,
      // This server has no launcher to hide processes with.
      packing: false,
      reasons: { packing: expect.any(String), writableRoot: expect.any(String), rootUser: expect.stringContaining('userns-remap') },
    },
  })
})

test('a limit that the host cannot enforce is no capability, with its reason', async () => {
  expect(await probed({ PidsLimit: false })).toMatchObject({
    capabilities: { limits: { cpus: true, memory: true, pids: false }, reasons: { pids: expect.stringContaining('cgroup') } },
  })
  expect(await probed({ CgroupDriver: 'none' })).toMatchObject({ capabilities: { limits: { cpus: false, memory: false, pids: false } } })
})

test('an engine without a bridge has no network to switch on', async () => {
  expect(await probed({}, ['none', 'host'])).toMatchObject({
    capabilities: { networkOn: false, reasons: { networkOn: expect.stringContaining('bridge') } },
  })
})

test.each([
  ['without a system call filter', { SecurityOptions: ['name=apparmor'] }, 'system call filter'],
  ['with an empty system call filter', { SecurityOptions: ['name=seccomp,profile=unconfined'] }, 'system call filter'],
  ['that says nothing of its security', { SecurityOptions: null }, 'system call filter'],
  ['that remaps users', { SecurityOptions: ['name=seccomp,profile=builtin', 'name=userns'] }, 'userns'],
  ['that is rootless', { SecurityOptions: ['name=seccomp,profile=builtin', 'name=rootless'] }, 'rootless'],
  ['in a virtual machine', { OperatingSystem: 'Docker Desktop' }, 'virtual machine'],
  ['of Windows containers', { OSType: 'windows' }, 'windows'],
])('an engine %s is not available', async (_name, info, reason) => {
  expect(await probed(info)).toMatchObject({ available: false, reason: expect.stringContaining(reason), fix: expect.any(String) })
})

test('an engine that is too old is not available, with the upgrade as fix', async () => {
  expect(await probed({}, [], { ...VERSION_ANSWER, ApiVersion: '1.30' })).toMatchObject({
    available: false,
    reason: expect.stringContaining('1.30'),
    fix: expect.stringContaining('upgrade'),
  })
})

test('an engine behind tcp is not available, because it may not see our files', async () => {
  expect(await dockerBackend(NEEDS, { socket: 'tcp://127.0.0.1:1' }).probe()).toMatchObject({
    available: false,
    reason: expect.stringContaining('tcp://127.0.0.1:1'),
  })
})

test('an address of an unknown kind is not available, by name', async () => {
  expect(await dockerBackend(NEEDS, { socket: 'ssh://me@host' }).probe()).toMatchObject({
    available: false,
    reason: expect.stringContaining('ssh://me@host'),
  })
})

test('no socket and a dead daemon are told apart', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-docker-'))
  const path = join(directory, 'docker.sock')
  expect(await dockerBackend(NEEDS, { socket: path }).probe()).toMatchObject({
    available: false,
    reason: expect.stringContaining(`there is no unix://${path}`),
  })

  const server = createServer().listen(path)
  await once(server, 'listening')
  // A killed daemon leaves its socket's file behind.
  await rename(path, `${path}.kept`)
  server.close()
  await once(server, 'close')
  await rename(`${path}.kept`, path)
  expect(await dockerBackend(NEEDS, { socket: path }).probe()).toMatchObject({
    available: false,
    reason: expect.stringContaining('nothing listens'),
    fix: expect.stringContaining('systemctl start docker'),
  })

  await rm(path)
  await writeFile(path, '')
  expect(await dockerBackend(NEEDS, { socket: path }).probe()).toMatchObject({ available: false })
  await rm(directory, { recursive: true })
})
