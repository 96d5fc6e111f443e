/**
 * Mount rules: which directories of the host a caller may show to a sandbox, and where.
 *
 * A path is checked twice. First as it is written, without the disk: a source outside of the allowed roots gets one answer, whatever the
 * host has there. Then after symbolic links are resolved, and the mount is made of that path: what was checked is what is mounted. Callers
 * do not learn where a link leads, because they may make links below a root themselves; that goes to the log.
 * Why each rule is there: THREAT-MODEL.md, "Mounts".
 */
import { constants } from 'node:fs'
import { access, lstat, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, normalize } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { Mount } from '../sandboxes/spec.ts'
import type { Log } from '../telemetry/log.ts'
import { checkTargets } from './mount-targets.ts'
import type { OwnPath } from './own-paths.ts'
import { isWithin } from './path-within.ts'

export interface MountWish {
  readonly source: string
  readonly target: string
  readonly mode: 'ro' | 'rw'
}

export interface MountRules {
  /** Only what lies in one of these may be mounted. */
  readonly allowedRoots: readonly string[]
  /** The server's own state; a caller never sees it, whatever the roots say. */
  readonly stateDir: string
  /** The server's own programs and configuration: as closed to callers as its state. */
  readonly ownPaths?: readonly OwnPath[] | undefined
  readonly sandboxUid: number
  readonly sandboxGid: number
  /** The user of the host whose files in this directory are shown as the sandbox user's; absent or `null`: `sandboxUid`. */
  readonly ownerOf?: ((source: string) => Promise<number | null>) | undefined
  readonly log?: Pick<Log, 'info'> | undefined
}

/** Never shown to a sandbox, nor anything that holds one of them: the system itself, its secrets, and the ways to control it. */
const BLOCKED = [
  ...['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/libx32', '/proc', '/root', '/run', '/sbin', '/sys', '/usr'],
  ...[
    '/var/run',
    '/var/log',
    '/var/spool',
    '/var/lib/docker',
    '/var/lib/containers',
    '/var/lib/containerd',
    '/var/lib/kubelet',
    '/var/lib/rancher',
  ],
]

/** Whoever reaches one of these is root on the host. */
const ENGINE_SOCKETS = ['docker.sock', 'podman.sock', 'containerd.sock', 'crio.sock', 'buildkitd.sock']

/** The mounts in the order they are to be made, parents first. Throws `mount_refused` with a sentence that names the path. */
export async function checkMounts(wishes: readonly MountWish[], rules: MountRules): Promise<readonly Mount[]> {
  const roots = await resolveRoots(rules)
  const mounts: Mount[] = []
  for (const wish of wishes) {
    const source = await checkSource(wish, rules, roots)
    const owner = (await rules.ownerOf?.(source)) ?? null
    mounts.push({ source, target: wish.target, mode: wish.mode, ...(owner === null ? {} : { owner }) })
  }
  return checkTargets(mounts)
}

/** A mount of the session's own files, which the server keeps: no caller chose it, so only its path is settled. */
export async function serverMount(source: string, target: string, mode: 'ro' | 'rw'): Promise<Mount> {
  return { source: await realpath(source), target, mode, isOwn: true }
}

interface ResolvedRoots {
  /** Each as it was configured and as it is without links. */
  readonly allowed: readonly { readonly written: string; readonly real: string }[]
  readonly blocked: readonly OwnPath[]
}

async function resolveRoots({ allowedRoots, stateDir, ownPaths = [] }: MountRules): Promise<ResolvedRoots> {
  const state = [...new Set([tidy(stateDir), await realpathOr(stateDir)])]
  return {
    allowed: await Promise.all(allowedRoots.map(async (root) => ({ written: tidy(root), real: await realpathOr(root) }))),
    blocked: [
      ...BLOCKED.map((path) => ({ path, what: path })),
      ...state.map((path) => ({ path, what: 'the state of the server' })),
      ...ownPaths,
    ],
  }
}

async function checkSource(wish: MountWish, rules: MountRules, { allowed, blocked }: ResolvedRoots): Promise<string> {
  const refuse = refusalOf(wish.source)
  if (wish.source.includes('\0')) refuse('the path contains a NUL byte')
  if (!isAbsolute(wish.source)) refuse('the path is not absolute')
  const written = tidy(wish.source)
  if (!allowed.some((root) => isWithin(written, root.written) || isWithin(written, root.real))) refuse('it is not under an allowed root')
  if (written === '/') refuse('it is the whole host')
  const around = blockedBy(written, blocked)
  if (around !== undefined) refuse(`it ${isWithin(written, around.path) ? 'lies in' : 'contains'} ${around.what}`)

  const source = await realpath(wish.source).catch(() => null)
  const isShown = source !== null && source !== '/' && blockedBy(source, blocked) === undefined
  if (isShown && allowed.some((root) => isWithin(source, root.real))) {
    await checkKind(source, refuse)
    if (wish.mode === 'rw') await checkWritable(source, rules, refuse)
    return source
  }
  rules.log?.info('mount-refused', { path: wish.source, leads_to: source })
  return refuse('it does not exist, or a link in it leads to where callers may not mount')
}

function blockedBy(path: string, blocked: ResolvedRoots['blocked']): OwnPath | undefined {
  return blocked.find((each) => isWithin(path, each.path) || isWithin(each.path, path))
}

/** Without `.`, `..`, empty names and a slash at its end. */
function tidy(path: string): string {
  return normalize(path).replace(/(?<=.)\/$/, '')
}

type Refuse = (why: string) => never

function refusalOf(path: string): Refuse {
  return (why) => {
    throw new HoldfastError('mount_refused', `'${path}' cannot be mounted: ${why}`, { path })
  }
}

async function checkKind(source: string, refuse: Refuse): Promise<void> {
  const status = await stat(source)
  if (!status.isDirectory() && !status.isFile()) refuse('it is neither a directory nor a regular file')
  if (!status.isDirectory()) return
  for (const name of ENGINE_SOCKETS) {
    const entry = await lstat(join(source, name)).catch(() => null)
    if (entry !== null) refuse(`it holds ${name}, the control socket of a container engine`)
  }
}

async function checkWritable(source: string, { sandboxUid, sandboxGid, ownerOf }: MountRules, refuse: Refuse): Promise<void> {
  const owner = (await ownerOf?.(source)) ?? null
  if (await isWritableBy(source, owner ?? sandboxUid, owner ?? sandboxGid)) return
  refuse(
    `the sandbox's user (uid ${sandboxUid}) may not write to it; run \`chown ${sandboxUid}:${sandboxGid} ${source}\` or mount it read-only`,
  )
}

async function isWritableBy(path: string, uid: number, gid: number): Promise<boolean> {
  if (uid === process.geteuid?.()) {
    // The kernel knows more than the mode bits: access lists, supplementary groups.
    return access(path, constants.W_OK).then(
      () => true,
      () => false,
    )
  }
  const status = await stat(path)
  const needed = status.isDirectory() ? 0o3 : 0o2
  const granted = status.uid === uid ? status.mode >> 6 : status.gid === gid ? status.mode >> 3 : status.mode
  return (granted & needed) === needed
}

/** A root that does not exist allows nothing and blocks nothing below it. */
async function realpathOr(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
