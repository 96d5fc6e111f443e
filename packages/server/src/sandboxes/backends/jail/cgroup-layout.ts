/**
 * Where this server may make cgroups: version 1, version 2 and both at once, as root or in a delegated part of the tree.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * `findCgroups` only looks. `prepareCgroup` makes a parent that all sandboxes of this server share.
 */
import { accessSync, constants, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasErrorCode } from '../../../home/error-code.ts'

export const CONTROLLERS = ['memory', 'pids', 'cpu'] as const
export type Controller = (typeof CONTROLLERS)[number]

/** The directory in which a sandbox's own cgroup for a controller is made. */
export interface CgroupPlace {
  readonly version: 1 | 2
  readonly parent: string
}

export type CgroupLayout = Readonly<Record<Controller, CgroupPlace | { readonly reason: string }>> & {
  /** Where all processes of a sandbox can be frozen; `null` where nothing of the kind is writable. */
  readonly freezer?: CgroupPlace | null
}

/** What the layout is read from; tests give their own tree. */
export interface CgroupHost {
  readonly isRoot: boolean
  readonly mountinfo: string
  readonly selfCgroup: string
}

/** The cgroup that the server moves itself to where version 2 forbids processes beside child cgroups. */
const SERVER_LEAF = 'holdfast-server'

const DELEGATION_FIX = 'start the server with `systemd-run --user --scope -p Delegate=yes …`, or as root'

export function thisHost(): CgroupHost {
  return {
    isRoot: process.geteuid?.() === 0,
    mountinfo: readFileSync('/proc/self/mountinfo', 'utf8'),
    selfCgroup: readFileSync('/proc/self/cgroup', 'utf8'),
  }
}

export function findCgroups(serverId: string, host: CgroupHost = thisHost()): CgroupLayout {
  const mounts = parseCgroupMounts(host.mountinfo)
  const version2 = findVersion2Base(mounts, host)
  const place = (controller: Controller): CgroupPlace | { readonly reason: string } => {
    if (version2 !== null && version2.controllers.includes(controller)) {
      if (!isWritable(version2.base)) return { reason: `the cgroup ${version2.base} is not delegated to this user; ${DELEGATION_FIX}` }
      return { version: 2, parent: join(version2.base, `holdfast-${serverId}`) }
    }
    const version1 = mounts.find((mount) => mount.version === 1 && mount.controllers.includes(controller))
    if (version1 === undefined)
      return { reason: `no cgroup hierarchy of this host offers the ${controller} controller here; ${DELEGATION_FIX}` }
    if (!host.isRoot)
      return { reason: `the ${controller} controller is in a version 1 hierarchy, which only root may use; start the server as root` }
    if (!isWritable(version1.path))
      return { reason: `${version1.path} is mounted read-only; give the container of the server a writable cgroup tree` }
    return { version: 1, parent: join(version1.path, `holdfast-${serverId}`) }
  }
  return { memory: place('memory'), pids: place('pids'), cpu: place('cpu'), freezer: findFreezer(serverId, mounts, version2?.base, host) }
}

/** Version 2 freezes without a controller, also beside version 1 hierarchies that have the controllers. */
function findFreezer(
  serverId: string,
  mounts: readonly CgroupMount[],
  version2Base: string | undefined,
  { isRoot }: CgroupHost,
): CgroupPlace | null {
  if (version2Base !== undefined && isWritable(version2Base)) return { version: 2, parent: join(version2Base, `holdfast-${serverId}`) }
  const version1 = mounts.find((mount) => mount.version === 1 && mount.controllers.includes('freezer'))
  if (version1 === undefined || !isRoot || !isWritable(version1.path)) return null
  return { version: 1, parent: join(version1.path, `holdfast-${serverId}`) }
}

export function isPlace(place: CgroupPlace | { readonly reason: string }): place is CgroupPlace {
  return 'parent' in place
}

/** Makes a parent that the sandboxes of this server share and, in version 2, hands the controllers down to it. Safe to repeat. */
export async function prepareCgroup(layout: CgroupLayout, parent: string): Promise<void> {
  await mkdir(parent, { recursive: true })
  const controllers = CONTROLLERS.filter((controller) => {
    const place = layout[controller]
    return isPlace(place) && place.version === 2 && place.parent === parent
  })
  if (controllers.length === 0) return
  await handDown(dirname(parent), controllers)
  await handDown(parent, controllers)
}

interface CgroupMount {
  readonly version: 1 | 2
  readonly path: string
  readonly controllers: readonly string[]
}

/** From `/proc/self/mountinfo`; a version 1 hierarchy names its controllers among the options of its superblock. */
export function parseCgroupMounts(mountinfo: string): readonly CgroupMount[] {
  return mountinfo.split('\n').flatMap((line): readonly CgroupMount[] => {
    const [before = '', after = ''] = line.split(' - ')
    const path = before.split(' ')[4]
    const [type, , options = ''] = after.split(' ')
    if (path === undefined) return []
    if (type === 'cgroup2') return [{ version: 2, path, controllers: [] }]
    if (type === 'cgroup') return [{ version: 1, path, controllers: options.split(',') }]
    return []
  })
}

/** Root uses the top of the tree as it sees it; another user only what was delegated: the cgroup it is in. */
function findVersion2Base(
  mounts: readonly CgroupMount[],
  host: CgroupHost,
): { readonly base: string; readonly controllers: readonly string[] } | null {
  const mount = mounts.find((candidate) => candidate.version === 2)
  if (mount === undefined) return null
  const own = /^0::(\/.*)$/m.exec(host.selfCgroup)?.[1] ?? '/'
  const delegated = own.endsWith(`/${SERVER_LEAF}`) ? dirname(own) : own
  const base = host.isRoot ? mount.path : join(mount.path, delegated)
  try {
    return { base, controllers: readFileSync(join(base, 'cgroup.controllers'), 'utf8').trim().split(' ') }
  } catch {
    // Not visible from here (another cgroup namespace): as good as not there.
    return null
  }
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

async function handDown(directory: string, controllers: readonly string[]): Promise<void> {
  const file = join(directory, 'cgroup.subtree_control')
  const enabled = (await readFile(file, 'utf8')).trim().split(' ')
  const wanted = controllers.filter((controller) => !enabled.includes(controller))
  if (wanted.length === 0) return
  const request = wanted.map((controller) => `+${controller}`).join(' ')
  try {
    await writeFile(file, request)
  } catch (error) {
    if (!hasErrorCode(error, 'EBUSY')) throw error
    // Version 2 allows no process beside child cgroups that are controlled: everything that runs here moves one down.
    await moveProcesses(directory, join(directory, SERVER_LEAF))
    await writeFile(file, request)
  }
}

async function moveProcesses(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  const pids = (await readFile(join(from, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean)
  for (const pid of pids) await writeFile(join(to, 'cgroup.procs'), pid)
}
