/**
 * A sandbox's spec as a plan for a container: the whole isolation in one place, in no engine's words yet.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Docker's and Podman's create requests are two renderings of it. Nothing of the image but its files is used: its
 * entrypoint, command, user, directory, health check and volumes are replaced. Pure: the same wish gives the same plan.
 */
import { PACKED_ROOT } from '../../packing.ts'
import { guestFilterFlags } from '../guest-filter.ts'
import { guestUserFlags } from '../guest-users.ts'
import type { HostUsers, Limits, Mount, PackedUsers, SandboxSpec, SandboxUser } from '../../spec.ts'

/** Root's own directory inside: its parent is closed to commands, whoever owns what lies in it. */
const INSIDE = '/.holdfast'
const GUEST_PATH = `${INSIDE}/guest`
const SOCKET_DIRECTORY = `${INSIDE}/run`
export const SOCKET_NAME = 'guest.sock'

/** The guest changes users, kills what it started and gives up the rest; commands get none of these. */
const GUEST_CAPABILITIES = ['SETUID', 'SETGID', 'KILL', 'SETPCAP'] as const

/** Neighbours may write there, but not see what the others have written. */
const UNLISTED = 'mode=1733'

/** A sandbox is a better victim than anything of the host when the host runs out of memory. */
const OOM_SCORE_ADJUSTMENT = 300

/** Where the engines differ, as found by their probes. */
export interface EngineTraits {
  /** Without it the kernel keeps no account of swap, and the engine refuses to be asked. */
  readonly limitsSwap: boolean
  /** Whether a tmpfs can be made for a user; otherwise it is root's and open to all inside, as `/tmp` is. */
  readonly ownsTmpfs: boolean
  /** Processes per user of the host; `null`: the engine sets none by itself. */
  readonly maxUserProcesses: number | null
  readonly isRootless: boolean
  /** Whether the launcher can mount something in a container that runs. */
  readonly reachesContainers: boolean
}

export interface ContainerWish {
  readonly spec: SandboxSpec
  /** Of commands, on the host. */
  readonly user: SandboxUser
  readonly traits: EngineTraits
  /** The image as the engine found it, and the volumes it declares. */
  readonly imageId: string
  readonly imageVolumes: readonly string[]
  /** With `user: root`: a directory in the place of the image. */
  readonly rootPath?: string
  readonly guestPath: string
  readonly socketDirectory: string
  /** A file for `/etc/hosts`, for an engine that would show its own. */
  readonly hostsPath: string
  readonly labels: Readonly<Record<string, string>>
}

export interface Rlimit {
  readonly name: 'nofile' | 'nproc' | 'core'
  readonly value: number
}

export interface ContainerPlan {
  readonly imageId: string
  /** `null`: the image. */
  readonly rootPath: string | null
  readonly argv: readonly string[]
  readonly hostname: string
  readonly labels: Readonly<Record<string, string>>
  readonly capabilities: readonly string[]
  readonly network: SandboxSpec['network']
  readonly isRootReadOnly: boolean
  readonly oomScoreAdjustment: number
  readonly shmBytes: number
  /** Parents first. */
  readonly binds: readonly Mount[]
  /** Target and options, all with `nosuid` and `nodev`. */
  readonly tmpfs: readonly (readonly [target: string, options: readonly string[]])[]
  readonly limits: Limits
  readonly rlimits: readonly Rlimit[]
}

export function containerPlan(wish: ContainerWish): ContainerPlan {
  const { spec, user, traits } = wish
  return {
    imageId: wish.imageId,
    rootPath: wish.rootPath ?? null,
    argv: [
      GUEST_PATH,
      'serve',
      '--listen',
      `${SOCKET_DIRECTORY}/${SOCKET_NAME}`,
      ...(spec.user === 'root' ? rootUserFlags(spec.users) : guestUserFlags(user, spec.packed)),
      ...unlistedFlags(wish),
      ...guestFilterFlags(spec),
    ],
    hostname: 'sandbox',
    labels: wish.labels,
    capabilities: GUEST_CAPABILITIES,
    network: spec.network,
    isRootReadOnly: spec.rootfs === 'read-only',
    oomScoreAdjustment: OOM_SCORE_ADJUSTMENT,
    shmBytes: spec.limits.tmpBytes,
    binds: [
      { source: wish.guestPath, target: GUEST_PATH, mode: 'ro' },
      { source: wish.socketDirectory, target: SOCKET_DIRECTORY, mode: 'rw' },
      ...(spec.packed === undefined ? [] : [packedMount(spec.packed)]),
      ...spec.mounts,
    ],
    tmpfs: tmpfsMounts(wish),
    limits: spec.limits,
    rlimits: rlimits(spec.limits, traits),
  }
}

/** The container has no user namespace; its guest makes one, as the user whom the kernel shall charge for what is used in it. */
function rootUserFlags(users: HostUsers | undefined): readonly string[] {
  return ['--own-users', String(users?.guest ?? 0), ...guestUserFlags({ uid: 0, gid: 0 })]
}

/** The places of sessions, as a mount like any other. */
export function packedMount({ source }: PackedUsers): Mount {
  return { source, target: PACKED_ROOT, mode: 'rw' }
}

function tmpfsMounts({ spec, user, traits, imageVolumes }: ContainerWish): ContainerPlan['tmpfs'] {
  const size = `size=${spec.limits.tmpBytes}`
  const isPacked = spec.packed !== undefined
  const openToAll = isPacked ? UNLISTED : 'mode=1777'
  const own = traits.ownsTmpfs && !isPacked ? ['mode=0755', `uid=${user.uid}`, `gid=${user.gid}`] : [openToAll]
  const tmpfs = new Map<string, readonly string[]>([
    [INSIDE, ['size=65536', 'mode=0700', 'nosuid', 'nodev']],
    ['/tmp', [size, openToAll, 'exec', 'nosuid', 'nodev']],
    ...(isPacked ? coveredFromNeighbours(size) : []),
  ])
  // A declared volume would become an unbounded directory of the host, so each gets what every other writable place has.
  for (const target of [...(isPacked ? [] : ['/home/user', '/workspace']), ...imageVolumes]) {
    if (!tmpfs.has(target)) tmpfs.set(target, [size, ...own, 'exec', 'nosuid', 'nodev'])
  }
  for (const mount of spec.mounts) tmpfs.delete(mount.target)
  return [...tmpfs]
}

/** Where an engine would show names and numbers of others: shared memory, message queues, and the processes of the cgroup. */
function coveredFromNeighbours(size: string): readonly (readonly [string, readonly string[]])[] {
  const nothing = ['ro', 'size=4096', 'mode=0555', 'nosuid', 'nodev']
  return [
    ['/dev/shm', [size, UNLISTED, 'nosuid', 'nodev', 'noexec']],
    ['/dev/mqueue', nothing],
    ['/sys/fs/cgroup', nothing],
  ]
}

/** Some runtimes give a tmpfs the mode of the image's directory below it, whatever was asked; the guest makes sure. */
function unlistedFlags(wish: ContainerWish): readonly string[] {
  if (wish.spec.packed === undefined) return []
  return tmpfsMounts(wish).flatMap(([target, options]) => (options.includes(UNLISTED) ? ['--unlisted', target] : []))
}

function rlimits(limits: Limits, traits: EngineTraits): readonly Rlimit[] {
  const always: readonly Rlimit[] = [
    { name: 'nofile', value: limits.openFiles },
    // A core dump goes where the host says, which may be a program of the host.
    { name: 'core', value: 0 },
  ]
  return traits.maxUserProcesses === null ? always : [...always, { name: 'nproc', value: traits.maxUserProcesses }]
}
