/** What the probes of podman and docker say about engines that have everything, or lack something. */
import { HoldfastError } from '@holdfast/protocol'
import type { Capabilities, Probe } from '../../../packages/server/src/sandboxes/backend.ts'
import { dockerBackend } from '../../../packages/server/src/sandboxes/backends/docker/docker-backend.ts'
import { dockerFacts, explainDockerFailure } from '../../../packages/server/src/sandboxes/backends/docker/docker-facts.ts'
import { parseEngineAddress } from '../../../packages/server/src/sandboxes/backends/engine/engine-address.ts'
import { engineClient } from '../../../packages/server/src/sandboxes/backends/engine/engine-client.ts'
import { notVisible, otherDriver } from '../../../packages/server/src/sandboxes/backends/engine/engine-storage.ts'
import { probeOf } from '../../../packages/server/src/sandboxes/backends/engine/engine-facts.ts'
import { scriptedEngine, VERSION_ANSWER } from '../../../packages/server/src/sandboxes/backends/engine/scripted-engine.ts'
import { NOT_ROOT } from '../../../packages/server/src/sandboxes/backends/overlay-trial.ts'
import { podmanBackend } from '../../../packages/server/src/sandboxes/backends/podman/podman-backend.ts'
import { podmanFacts, PodmanInfo } from '../../../packages/server/src/sandboxes/backends/podman/podman-facts.ts'
import { NOT_ROOT as NO_USERS_OF_ITS_OWN, notOverlay } from '../../../packages/server/src/sandboxes/backends/podman/root-user-trial.ts'
import { NOWHERE } from './words.ts'
import type { BackendWords, Refusal } from './words.ts'

const NEEDS = { serverId: 'srv', stateDir: NOWHERE, guestPath: NOWHERE, launcherPath: NOWHERE }
const ADDRESS = 'unix:///var/run/docker.sock'
const SECCOMP = 'name=seccomp,profile=builtin'
const HEALTHY_DOCKER = {
  OSType: 'linux',
  OperatingSystem: 'Debian GNU/Linux 12',
  CgroupDriver: 'systemd',
  ...{ MemoryLimit: true, SwapLimit: true, CpuCfsPeriod: true, CpuCfsQuota: true, PidsLimit: true },
  SecurityOptions: [SECCOMP],
}

export async function dockerWords(packing: string | null): Promise<BackendWords> {
  const unusable = [
    { SecurityOptions: [] },
    { SecurityOptions: [SECCOMP, 'name=userns'] },
    { SecurityOptions: [SECCOMP, 'name=rootless'] },
    { OperatingSystem: 'Docker Desktop' },
  ]
  const elsewhere = engineClient('docker', parseEngineAddress('tcp://192.0.2.1:2375'))
  const refused = (errno: string) => new HoldfastError('backend_unavailable', errno, { errno, address: ADDRESS })
  const probes = [
    await askDocker({}, ['bridge'], { ...VERSION_ANSWER, Version: '18.09.9', ApiVersion: '1.39', MinAPIVersion: '1.12' }),
    await probeOf(explainDockerFailure(refused('ECONNREFUSED')).then((error) => Promise.reject(error))),
    await probeOf(explainDockerFailure(refused('EACCES')).then((error) => Promise.reject(error))),
    // It is refused by its address; nothing is sent there.
    await probeOf(dockerFacts(elsewhere, NEEDS, new AbortController().signal)),
  ]
  for (const info of unusable) probes.push(await askDocker(info))
  return {
    kind: 'docker',
    best: withRights(await askDocker({})),
    lacking: [
      withRights(await askDocker({ CgroupDriver: 'none' }), { packing, writableRoot: NOT_ROOT }),
      withRights(await askDocker({}, ['none']), { writableRoot: otherDriver('docker', 'overlayfs') }),
      withRights(await askDocker({}), { writableRoot: notVisible('docker', '/var/lib/docker') }),
    ],
    refusals: probes.filter(isRefusal),
  }
}

export async function podmanWords(packing: string | null): Promise<BackendWords> {
  const controllers = ['cpu', 'memory', 'pids']
  const probes = [
    await podmanBackend(NEEDS, { binary: `${NOWHERE}/podman`, args: ['--root', NOWHERE] }).probe(),
    await podmanBackend(NEEDS, { socket: '/run/podman/podman.sock.nowhere' }).probe(),
    await askPodman(controllers, false),
  ]
  return {
    kind: 'podman',
    best: withRights(await askPodman(controllers), { rootUser: null }),
    lacking: [
      withRights(await askPodman([]), { packing, writableRoot: NOT_ROOT, rootUser: NO_USERS_OF_ITS_OWN }),
      withRights(await askPodman(controllers), { writableRoot: otherDriver('podman', 'vfs'), rootUser: notOverlay('vfs') }),
    ],
    refusals: probes.filter(isRefusal).map((refusal) => ({ ...refusal, reason: refusal.reason.replace('.nowhere', '') })),
  }
}

async function askDocker(info: object, networks: readonly string[] = ['bridge'], version: object = VERSION_ANSWER): Promise<Probe> {
  await using engine = await scriptedEngine({
    '/version': (_request, response) => response.end(JSON.stringify(version)),
    '/info': (_request, response) => response.end(JSON.stringify({ ...HEALTHY_DOCKER, ...info })),
    '/networks': (_request, response) => response.end(JSON.stringify(networks.map((Name) => ({ Name })))),
  })
  return await dockerBackend(NEEDS, { socket: `unix://${engine.path}` }).probe()
}

function askPodman(cgroupControllers: readonly string[], seccompEnabled = true): Promise<Probe> {
  const host = { cgroupControllers, security: { seccompEnabled } }
  return probeOf(podmanFacts(PodmanInfo.parse({ host, version: { Version: '4.3.1' } }), NEEDS, new AbortController().signal))
}

type Problems = { readonly [Right in 'packing' | 'writableRoot' | 'rootUser']?: string | null }

/** Packing, writable roots and Podman's root inside depend on the rights of the server too, which are not those of this program. */
function withRights(probe: Probe, problems: Problems = {}): Capabilities {
  if (!probe.available) throw new Error(probe.reason)
  const rights = { packing: null, writableRoot: null, ...problems }
  const isThere = Object.fromEntries(Object.entries(rights).map(([right, problem]) => [right, problem === null]))
  const reasons = Object.entries({ ...probe.capabilities.reasons, ...rights }).filter(([, reason]) => reason !== null)
  return { ...probe.capabilities, ...isThere, reasons: Object.fromEntries(reasons) }
}

function isRefusal(probe: Probe): probe is Refusal {
  return !probe.available
}
