/**
 * The file system as a sandbox sees it, described once for every jail program.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * The host's own `/usr`, read-only; a small generated `/etc`; bounded tmpfs where programs expect to write; the
 * caller's mounts; the guest. Nothing else of the host, and nothing else writable. `staging.ts` says where each source
 * is taken from, `bubblewrap-flags.ts` and `nsjail-flags.ts` spell it for their program.
 */
import { lstatSync, readlinkSync } from 'node:fs'
import { posix } from 'node:path'
import { PACKED_ROOT } from '../../packing.ts'
import type { Mount, SandboxSpec } from '../../spec.ts'
import type { SandboxCgroup } from './cgroup-limits.ts'
import type { EtcDirectory } from './etc-directory.ts'
import { COMMAND_USER } from './jail-user.ts'
import { diskEntries, overlayOf } from './writable-root.ts'

export type ViewEntry =
  | {
      readonly kind: 'bind'
      readonly source: string
      readonly target: string
      readonly mode: 'ro' | 'rw'
      /** A directory of the host that the spec names: files of this user are shown as those of the sandbox's user. */
      readonly owner?: number
    }
  /** Files of the host that the sandbox's user may change; the changes go to the directory `layer`. */
  | { readonly kind: 'overlay'; readonly source: string; readonly target: string; readonly layer: string }
  | {
      readonly kind: 'tmpfs'
      readonly target: string
      readonly sizeBytes: number
      readonly permissions: string
      readonly owner: 'user' | 'root'
    }
  | { readonly kind: 'directory'; readonly target: string }
  | { readonly kind: 'symlink'; readonly target: string; readonly to: string }
  | { readonly kind: 'proc' }
  | { readonly kind: 'dev' }

export const GUEST_PATH_INSIDE = '/.holdfast/guest'
const HOME = '/home/user'
const WORKSPACE = '/workspace'
/** Programs keep little in these two; a whole `tmpBytes` each would only be more to fill. */
const SMALL_TMPFS_BYTES = 64 * 1024 * 1024

/** Parents always come before what lies below them. `layer` is where a writable root keeps its changes. */
export function filesystemView(
  spec: SandboxSpec,
  etc: EtcDirectory,
  guestPath: string,
  cgroups: readonly Pick<SandboxCgroup, 'directory' | 'shownAt'>[],
  layer: string,
): readonly ViewEntry[] {
  const { packed } = spec
  const isWritable = spec.rootfs === 'writable'
  const isRoot = spec.user === 'root'
  const { tmpBytes } = spec.limits
  const smallBytes = Math.min(tmpBytes, SMALL_TMPFS_BYTES)
  const targets = new Set(spec.mounts.map((mount) => mount.target))
  const tmpfs = (target: string, owner: 'user' | 'root', permissions: string, sizeBytes = tmpBytes): readonly ViewEntry[] =>
    targets.has(target) ? [] : [{ kind: 'tmpfs', target, sizeBytes, permissions, owner }]
  // Neighbours may write there, but not see what the others have written.
  const openToAll = packed === undefined ? '1777' : '1733'
  return [
    isWritable ? overlayOf(layer, '/usr') : { kind: 'bind', source: '/usr', target: '/usr', mode: 'ro' },
    ...rootLinks(isRoot ? layer : null),
    isRoot ? overlayOf(layer, etc.directory, '/etc') : { kind: 'bind', source: etc.directory, target: '/etc', mode: 'ro' },
    ...etc.binds.map((path): ViewEntry => ({ kind: 'bind', source: path, target: path, mode: 'ro' })),
    { kind: 'proc' },
    // Kernel settings that any user may open for writing are only looked at, too.
    { kind: 'bind', source: '/proc/sys', target: '/proc/sys', mode: 'ro' },
    // A cgroup lists every process in it, so a packed sandbox does not see its own.
    ...(packed === undefined ? cgroupEntries(cgroups) : []),
    { kind: 'dev' },
    ...tmpfs('/dev/shm', 'root', openToAll, smallBytes),
    ...tmpfs('/tmp', 'root', openToAll),
    ...tmpfs('/run', 'root', '0755', smallBytes),
    ...(isWritable ? diskEntries(layer, isRoot) : VAR),
    { kind: 'directory', target: '/home' },
    ...(packed === undefined
      ? [...tmpfs(HOME, 'user', '0755'), ...tmpfs(WORKSPACE, 'user', '0755')]
      : [{ kind: 'bind', source: packed.source, target: PACKED_ROOT, mode: 'rw' } satisfies ViewEntry]),
    ...mountEntries(spec.mounts, [...(packed === undefined ? [HOME, WORKSPACE] : []), ...(isWritable ? ['/opt', '/var'] : [])]),
    { kind: 'directory', target: posix.dirname(GUEST_PATH_INSIDE) },
    { kind: 'bind', source: guestPath, target: GUEST_PATH_INSIDE, mode: 'ro' },
  ]
}

const VAR: readonly ViewEntry[] = [
  { kind: 'directory', target: '/var' },
  { kind: 'symlink', target: '/var/run', to: '../run' },
  { kind: 'symlink', target: '/var/tmp', to: '../tmp' },
]

/** Its own cgroups, so that programs (and `stats`) know what they may use. */
function cgroupEntries(cgroups: readonly Pick<SandboxCgroup, 'directory' | 'shownAt'>[]): readonly ViewEntry[] {
  const binds = cgroups.flatMap(({ directory, shownAt }): readonly ViewEntry[] =>
    shownAt === null ? [] : [{ kind: 'bind', source: directory, target: shownAt, mode: 'ro' }],
  )
  if (binds.length === 0) return []
  return [...['/sys', '/sys/fs', '/sys/fs/cgroup'].map((target): ViewEntry => ({ kind: 'directory', target })), ...binds]
}

/** `/bin`, `/lib64` and their like, as they are on the host: links into `/usr`, or directories of their own. */
function rootLinks(layer: string | null): readonly ViewEntry[] {
  return ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((target): readonly ViewEntry[] => {
    const status = lstatSync(target, { throwIfNoEntry: false })
    if (status === undefined) return []
    if (status.isSymbolicLink()) return [{ kind: 'symlink', target, to: readlinkSync(target) }]
    return [layer === null ? { kind: 'bind', source: target, target, mode: 'ro' } : overlayOf(layer, target)]
  })
}

/** Directories on the way to a mount are made readable; those inside another mount are that mount's own matter. */
function mountEntries(mounts: readonly Mount[], ownRoots: readonly string[]): readonly ViewEntry[] {
  const sorted = mounts.toSorted((a, b) => (a.target < b.target ? -1 : 1))
  const made = new Set<string>()
  return sorted.flatMap((mount) => {
    const parents = ancestors(mount.target).filter(
      (path) => !made.has(path) && !isBelowAny(path, [...sorted.map(({ target }) => target), ...ownRoots]),
    )
    for (const path of parents) made.add(path)
    return [
      ...parents.map((target): ViewEntry => ({ kind: 'directory', target })),
      {
        ...{ kind: 'bind', source: mount.source, target: mount.target, mode: mount.mode },
        ...(mount.isOwn === true ? {} : { owner: mount.owner ?? COMMAND_USER }),
      } satisfies ViewEntry,
    ]
  })
}

function isBelowAny(path: string, roots: readonly string[]): boolean {
  return path === '/home' || roots.some((root) => path === root || path.startsWith(`${root}/`))
}

/** `/a/b/c` → `/a`, `/a/b`. */
function ancestors(path: string): readonly string[] {
  const names = path.split('/').slice(1, -1)
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
}
