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
import { tcpBufferBytes } from '../tcp-buffers.ts'

export interface RunningContainer {
  readonly Id: string
  readonly State: { readonly Pid: number }
}

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
export async function memoryCgroup({ Id, State }: RunningContainer): Promise<string | null> {
  try {
    const [mountinfo, cgroup] = await Promise.all([readFile('/proc/self/mountinfo', 'utf8'), readFile(`/proc/${State.Pid}/cgroup`, 'utf8')])
    return memoryCgroupPath(mountinfo, cgroup, Id)
  } catch (error) {
    // Also where /proc hides the processes of others.
    if (hasErrorCode(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) return null
    throw error
  }
}

/** The cgroup of a container, by the cgroup of its first process; `null` when that is not the container's own, as with a number used again. */
export function memoryCgroupPath(mountinfo: string, cgroup: string, containerId: string): string | null {
  const mount = memoryMount(mountinfo)
  const own = cgroup
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, controllers = '']) => controllers.split(',').includes('memory'))
    ?.slice(2)
    .join(':')
  if (mount === null || own === undefined || containerId === '' || !own.includes(containerId)) return null
  return join(mount, own)
}

function memoryMount(mountinfo: string): string | null {
  return parseCgroupMounts(mountinfo).find(({ version, controllers }) => version === 1 && controllers.includes('memory'))?.path ?? null
}
