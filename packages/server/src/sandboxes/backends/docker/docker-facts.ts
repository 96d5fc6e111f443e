/**
 * What Docker says about itself, and what its silence means.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { access } from 'node:fs/promises'
import { platform } from 'node:process'
import { isHoldfastError } from '@holdfast/protocol'
import { formatEngineAddress } from '../engine/engine-address.ts'
import type { BackendNeeds } from '../../backend.ts'
import type { EngineClient } from '../engine/engine-client.ts'
import { usableStorage } from '../engine/engine-storage.ts'
import { packingProblem } from '../packing-trial.ts'
import { engineCapabilities, engineUnavailable, type EngineFacts } from '../engine/engine-facts.ts'

const DAEMONS = ['/usr/bin/dockerd', '/usr/sbin/dockerd', '/usr/local/bin/dockerd', '/snap/bin/dockerd']

const NO_ROOT_USER =
  'without userns-remap root of a Docker container is root of the host, and an engine with userns-remap is not supported; choose podman or bubblewrap under a root server'

/** Throws `backend_unavailable` unless this engine isolates as sandboxes need it. */
export async function dockerFacts(client: EngineClient, needs: BackendNeeds, signal: AbortSignal): Promise<EngineFacts> {
  if (platform !== 'linux')
    throw engineUnavailable('the docker backend needs a Linux host', 'run the server on Linux, for example in a virtual machine')
  if (client.address.kind === 'tcp') {
    const where = formatEngineAddress(client.address)
    throw engineUnavailable(
      `Docker at ${where} may be on another machine, where this server's files are not`,
      'run the server beside the engine and use its unix socket',
    )
  }
  const [version, info, networks] = await Promise.all([client.version(signal), client.info(signal), client.networkNames(signal)])
  const options = info.SecurityOptions ?? []

  if (info.OSType !== 'linux') throw engineUnavailable(`this Docker runs ${info.OSType} containers`, 'switch it to Linux containers')
  if (info.OperatingSystem === 'Docker Desktop') {
    throw engineUnavailable(
      'Docker Desktop runs its containers in a virtual machine, where a socket of this host cannot be reached',
      'use Docker Engine or Podman on this host',
    )
  }
  if (!options.some((option) => option.startsWith('name=seccomp')) || options.includes('name=seccomp,profile=unconfined')) {
    throw engineUnavailable('this Docker runs containers without a system call filter', 'start dockerd with its default seccomp profile')
  }
  for (const remapping of ['name=userns', 'name=rootless']) {
    if (!options.some((option) => option.startsWith(remapping))) continue
    throw engineUnavailable(
      `this Docker gives containers other user ids than the host's (${remapping.slice('name='.length)}), so files would belong to nobody`,
      'use rootless Podman, or a Docker engine without user remapping',
    )
  }
  const storage = await usableStorage('docker', { driver: info.Driver, directory: info.DockerRootDir }, needs, signal)
  const hasCgroups = info.CgroupDriver !== 'none'
  return {
    version: version.Version,
    capabilities: engineCapabilities({
      engine: 'docker',
      cpus: hasCgroups && info.CpuCfsQuota && info.CpuCfsPeriod,
      memory: hasCgroups && info.MemoryLimit,
      pids: hasCgroups && info.PidsLimit,
      limitsFix: 'boot the host with this cgroup controller enabled',
      networkProblem: networks.includes('bridge') ? null : 'this Docker has no bridge network; start dockerd without --bridge none',
      packingProblem: await packingProblem(needs.launcherPath, signal),
      writableRootProblem: storage.writableRootProblem,
      rootUserProblem: NO_ROOT_USER,
    }),
    traits: {
      limitsSwap: info.SwapLimit,
      ownsTmpfs: true,
      maxUserProcesses: null,
      isRootless: false,
      reachesContainers: storage.reachesContainers,
    },
  }
}

/** Turns a connection failure into its reason and fix; anything else stays what it is. */
export async function explainDockerFailure(failure: unknown): Promise<unknown> {
  if (!isHoldfastError(failure, 'backend_unavailable')) return failure
  const { errno, address, apiVersion } = failure.details
  if (apiVersion !== undefined) return engineUnavailable(failure.message, 'upgrade Docker to 20.10 or newer', failure)
  if (errno === 'EACCES') {
    return engineUnavailable(
      `this user may not use Docker's socket ${String(address)}`,
      'sudo usermod -aG docker "$USER", then log in again; or run the server with sudo',
      failure,
    )
  }
  if (errno === 'ENOENT' || errno === 'ENOTDIR') {
    const isInstalled = (await Promise.all(DAEMONS.map(exists))).includes(true)
    return isInstalled
      ? engineUnavailable(`Docker is installed but not running: there is no ${String(address)}`, 'sudo systemctl start docker', failure)
      : engineUnavailable(
          `Docker is not installed: there is no ${String(address)}`,
          'sudo apt install docker.io, or name a running engine with DOCKER_HOST',
          failure,
        )
  }
  if (errno === 'ECONNREFUSED')
    return engineUnavailable(`Docker is not running: nothing listens at ${String(address)}`, 'sudo systemctl start docker', failure)
  return failure
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
