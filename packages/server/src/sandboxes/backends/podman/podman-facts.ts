/**
 * What Podman says about itself. `podman info` and the API's own `libpod/info` give the same document, so that a
 * probe needs no running service.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { readFile } from 'node:fs/promises'
import { platform } from 'node:process'
import { z } from 'zod'
import type { BackendNeeds } from '../../backend.ts'
import { engineCapabilities, engineUnavailable, type EngineFacts } from '../engine/engine-facts.ts'
import { usableStorage } from '../engine/engine-storage.ts'
import { packingProblem } from '../packing-trial.ts'
import { isServerRoot } from '../../sandbox-user.ts'
import { rootUserProblem } from './root-user-trial.ts'
import { runtimeProblem } from './runtime-trial.ts'

export const PodmanInfo = z.object({
  host: z.object({
    cgroupVersion: z.string().default('v1'),
    cgroupControllers: z
      .array(z.string())
      .nullish()
      .transform((controllers) => controllers ?? []),
    networkBackend: z.string().default(''),
    ociRuntime: z.object({ name: z.string().default(''), path: z.string().default('') }).optional(),
    security: z.object({ rootless: z.boolean().default(false), seccompEnabled: z.boolean().default(false) }),
    serviceIsRemote: z.boolean().default(false),
  }),
  store: z
    .object({ graphDriverName: z.string().default(''), graphRoot: z.string().default('') })
    .default({ graphDriverName: '', graphRoot: '' })
    .transform(({ graphDriverName, graphRoot }) => ({ driver: graphDriverName, directory: graphRoot })),
  version: z.object({ Version: z.string() }),
})
export type PodmanInfo = z.output<typeof PodmanInfo>

/** Throws `backend_unavailable` unless this engine isolates as sandboxes need it. */
export async function podmanFacts(info: PodmanInfo, needs: BackendNeeds, signal: AbortSignal): Promise<EngineFacts> {
  const { host, version } = info
  if (platform !== 'linux')
    throw engineUnavailable('the podman backend needs a Linux host', 'run the server on Linux, for example in a virtual machine')
  if (!host.security.seccompEnabled)
    throw engineUnavailable('this Podman runs containers without a system call filter', 'install a Podman built with seccomp')
  const isRootless = host.security.rootless
  if (isRootless && isServerRoot()) {
    throw engineUnavailable(
      'this Podman belongs to another user, so files would belong to nobody',
      'run the server as that user, or name root’s own Podman',
    )
  }
  const broken = host.ociRuntime === undefined ? null : await runtimeProblem(host.ociRuntime.path)
  if (broken !== null) {
    throw engineUnavailable(
      `Podman's runtime ${host.ociRuntime?.name ?? ''} does not work here: ${broken}`,
      'sudo apt install runc, and set podman.args to --runtime runc',
    )
  }
  const storage = await usableStorage('podman', info.store, needs, signal)
  const controllers = new Set(host.cgroupControllers)
  return {
    version: version.Version,
    capabilities: engineCapabilities({
      engine: 'podman',
      cpus: controllers.has('cpu'),
      memory: controllers.has('memory'),
      pids: controllers.has('pids'),
      limitsFix: isRootless
        ? 'rootless limits need cgroup v2 with these controllers delegated to the user (systemd: Delegate=yes)'
        : 'boot the host with this cgroup controller enabled',
      networkProblem: null,
      packingProblem: await packingProblem(needs.launcherPath, signal),
      writableRootProblem: storage.writableRootProblem,
      rootUserProblem: await rootUserProblem(info, needs),
    }),
    traits: {
      ...{ limitsSwap: controllers.has('memory'), ownsTmpfs: true, maxUserProcesses: await maxUserProcesses(), isRootless },
      reachesContainers: storage.reachesContainers,
    },
  }
}

/**
 * Podman asks for 1,048,576 processes per user unless told otherwise, and fails where it may not raise its own limit
 * (no CAP_SYS_RESOURCE); its service also lowers that limit to the kernel's highest pid. So it is told what both sides
 * have anyway.
 */
async function maxUserProcesses(): Promise<number> {
  const [limits, highestPid] = await Promise.all([readFile('/proc/self/limits', 'utf8'), readFile('/proc/sys/kernel/pid_max', 'utf8')])
  const hard = /^Max processes\s+\S+\s+(\d+)/m.exec(limits)?.[1]
  return Math.min(Number(hard ?? Number.POSITIVE_INFINITY), Number(highestPid))
}
