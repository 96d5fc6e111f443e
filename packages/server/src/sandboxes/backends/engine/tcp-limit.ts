/**
 * Limits the TCP and UDP buffers of a container on cgroup version 1, where the memory limit does not count them.
 *
 * Docker and Podman have settings for it, which runc has ignored since 1.0; so the server writes the cgroup file itself, after the guest
 * answers and before the first command. A server that may not write it leaves those buffers without a limit (THREAT-MODEL.md).
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasErrorCode } from '../../../home/error-code.ts'
import { parseCgroupMounts } from '../jail/cgroup-layout.ts'
import { containerCgroups } from './container-cgroups.ts'
import type { RunningContainer } from './container-cgroups.ts'
import { tcpBufferBytes } from '../tcp-buffers.ts'

/** Whether this host counts them apart. */
export async function countsTcpApart(): Promise<boolean> {
  return memoryMount(await readFile('/proc/self/mountinfo', 'utf8')) !== null
}

export async function limitTcpBuffers(container: RunningContainer, memoryBytes: number): Promise<void> {
  const cgroup = await memoryCgroup(container)
  if (cgroup === null) return
  try {
    await writeFile(join(cgroup, 'memory.kmem.tcp.limit_in_bytes'), String(tcpBufferBytes(memoryBytes)), { flag: 'r+' })
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT', 'EACCES', 'EPERM', 'EROFS')) throw error
  }
}

/** The memory cgroup of a container that this server sees; `null` for any other, and on cgroup version 2. */
async function memoryCgroup(container: RunningContainer): Promise<string | null> {
  const [mountinfo, directories] = await Promise.all([readFile('/proc/self/mountinfo', 'utf8'), containerCgroups(container)])
  const mount = memoryMount(mountinfo)
  return directories.find((directory) => mount !== null && directory.startsWith(`${mount}/`)) ?? null
}

function memoryMount(mountinfo: string): string | null {
  return parseCgroupMounts(mountinfo).find(({ version, controllers }) => version === 1 && controllers.includes('memory'))?.path ?? null
}
