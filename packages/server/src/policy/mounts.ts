/**
 * Mount rules: which directories of the host a caller may show to a sandbox, and where.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * Every rule looks at the path after symbolic links are resolved, and the mount is made of that path: what was checked
 * is what is mounted. Why each rule is there: THREAT-MODEL.md, "Mounts".
 */
import { constants } from 'node:fs'
import { access, lstat, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { Mount } from '../sandboxes/spec.ts'
import { checkTargets } from './mount-targets.ts'

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
  readonly sandboxUid: number
  readonly sandboxGid: number
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
  for (const wish of wishes) mounts.push({ source: await checkSource(wish, rules, roots), target: wish.target, mode: wish.mode })
  return checkTargets(mounts)
}

/** A mount of the session's own files, which the server keeps: no caller chose it, so only its path is settled. */
export async function serverMount(source: string, target: string, mode: 'ro' | 'rw'): Promise<Mount> {
  return { source: await realpath(source), target, mode, isOwn: true }
}

interface ResolvedRoots {
  readonly allowed: readonly string[]
  readonly blocked: readonly { readonly path: string; readonly what: string }[]
}

async function resolveRoots(rules: MountRules): Promise<ResolvedRoots> {
  const stateDir = await realpathOr(rules.stateDir)
  return {
    allowed: await Promise.all(rules.allowedRoots.map(realpathOr)),
    blocked: [...BLOCKED.map((path) => ({ path, what: path })), { path: stateDir, what: 'the state of the server' }],
  }
}

async function checkSource(wish: MountWish, rules: MountRules, roots: ResolvedRoots): Promise<string> {
  const refuse = refusalOf(wish.source)
  if (wish.source.includes('\0')) refuse('the path contains a NUL byte')
  if (!isAbsolute(wish.source)) refuse('the path is not absolute')
  const source = await realpath(wish.source).catch((error: unknown) => refuse(`it cannot be opened (${reasonOf(error)})`, error))
  const shown = source === wish.source ? 'it' : `it leads to ${source}, which`
  if (source === '/') refuse(`${shown} is the whole host`)
  const blocked = roots.blocked.find(({ path }) => isWithin(source, path) || isWithin(path, source))
  if (blocked !== undefined) refuse(`${shown} ${isWithin(source, blocked.path) ? 'lies in' : 'contains'} ${blocked.what}`)
  if (!roots.allowed.some((root) => isWithin(source, root)))
    refuse(`${shown} is not under an allowed root (${roots.allowed.join(', ') || 'there is none'})`)
  await checkKind(source, refuse)
  if (wish.mode === 'rw') await checkWritable(source, rules, refuse)
  return source
}

type Refuse = (why: string, cause?: unknown) => never

function refusalOf(path: string): Refuse {
  return (why, cause) => {
    throw new HoldfastError('mount_refused', `'${path}' cannot be mounted: ${why}`, { path }, cause === undefined ? {} : { cause })
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

async function checkWritable(source: string, { sandboxUid, sandboxGid }: MountRules, refuse: Refuse): Promise<void> {
  if (await isWritableBy(source, sandboxUid, sandboxGid)) return
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

function isWithin(path: string, root: string): boolean {
  return path === root || root === '/' || path.startsWith(`${root}/`)
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ENOENT' ? 'it does not exist' : String(code ?? error)
}
