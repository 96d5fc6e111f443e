/**
 * The cgroups of a container, found by its first process: memory and pids on version 1, the one directory on version 2.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasErrorCode } from '../../../home/error-code.ts'
import { parseCgroupMounts } from '../jail/cgroup-layout.ts'

export interface RunningContainer {
  readonly Id: string
  readonly State: { readonly Pid: number }
}

const CONTROLLERS = ['memory', 'pids']

/** None for a container whose processes this server does not see. */
export async function containerCgroups({ Id, State }: RunningContainer): Promise<readonly string[]> {
  try {
    const [mountinfo, cgroup] = await Promise.all([readFile('/proc/self/mountinfo', 'utf8'), readFile(`/proc/${State.Pid}/cgroup`, 'utf8')])
    return containerCgroupPaths(mountinfo, cgroup, Id)
  } catch (error) {
    // Also where /proc hides the processes of others.
    if (hasErrorCode(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) return []
    throw error
  }
}

/** Only the container's own: a process id that was used again leads elsewhere. */
export function containerCgroupPaths(mountinfo: string, cgroup: string, containerId: string): readonly string[] {
  const mounts = parseCgroupMounts(mountinfo)
  if (containerId === '') return []
  return cgroup.split('\n').flatMap((line) => {
    const [, names = '', ...rest] = line.split(':')
    const own = rest.join(':')
    if (!own.includes(containerId)) return []
    const controllers = names.split(',').filter((name) => CONTROLLERS.includes(name))
    const mount = mounts.find((each) =>
      names === '' ? each.version === 2 : each.version === 1 && controllers.some((name) => each.controllers.includes(name)),
    )
    return mount === undefined ? [] : [join(mount.path, own)]
  })
}
