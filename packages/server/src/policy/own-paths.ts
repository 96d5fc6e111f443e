/**
 * The server's own programs and configuration: what a sandbox must never write, because the server runs it, often as root.
 *
 * They are blocked for mounts like the server's state, in and above; no allowed root may lie in one of them.
 */
import { existsSync, type Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { UidRange } from '../sandboxes/host-users.ts'
import type { SandboxUser } from '../sandboxes/spec.ts'
import type { Log } from '../telemetry/log.ts'
import { isWithin } from './path-within.ts'

export interface OwnPath {
  /** Without links. */
  readonly path: string
  readonly what: string
}

export interface OwnPathsNeeds {
  readonly guestPath: string
  readonly launcherPath: string
  readonly configFile: string
  /** The directory of the server's modules, or of its bundle. */
  readonly modules: string
}

export async function ownPaths({ guestPath, launcherPath, configFile, modules }: OwnPathsNeeds): Promise<readonly OwnPath[]> {
  const dependencies = above(modules)
    .map((directory) => join(directory, 'node_modules'))
    .filter((path) => existsSync(path))
  // `npm run up` in a clone bundles its sources and runs them, and its scripts.
  const clone = above(modules).find((directory) => ['package.json', 'guest/build'].every((name) => existsSync(join(directory, name))))
  const found = await Promise.all([
    directoryOf(launcherPath, 'the launcher of the server'),
    directoryOf(guestPath, 'the guest program of the server'),
    directoryOf(process.execPath, 'the runtime of the server'),
    resolved(modules, 'the program of the server'),
    resolved(configFile, 'the configuration of the server'),
    ...(clone === undefined ? [] : [resolved(clone, 'the sources of the server')]),
    ...dependencies.map((path) => resolved(path, 'the dependencies of the server')),
    ...(process.argv[1] === undefined ? [] : [directoryOf(process.argv[1], 'the program of the server')]),
  ])
  return [...new Map(found.map((own) => [own.path, own])).values()]
}

/** Throws `config_invalid` for a root in which callers could only mount what is the server's own. */
export async function checkRoots(roots: readonly string[], own: readonly OwnPath[]): Promise<void> {
  for (const root of roots) {
    // `{tenant}` stands for one name, so what lies before it decides.
    const [fixed = ''] = root.split('{tenant}')
    const { path } = await resolved(fixed.endsWith('/') ? fixed.slice(0, -1) || '/' : fixed, '')
    const around = own.find((each) => isWithin(path, each.path))
    if (around === undefined) continue
    const where = `lies in ${around.path}, which holds ${around.what}`
    throw new HoldfastError('config_invalid', `mounts.allowed_roots: '${root}' ${where}; choose a directory outside of it`)
  }
}

/** Host users that sandboxes may have: the default one, and those of a range where sessions have their own. */
export interface SandboxUsers {
  readonly user: SandboxUser
  readonly range: UidRange | null
}

/** The server runs these, so a sandbox's user that can write one of them needs only a mount, or another hole, to be the server. */
export async function warnOfWritable(own: readonly OwnPath[], users: SandboxUsers, log: Pick<Log, 'warn'>): Promise<void> {
  // A server that is not root has one user for everything, which THREAT-MODEL.md says.
  if (users.user.uid === process.geteuid?.()) return
  const warned = new Set<string>()
  for (const { path, what } of own) {
    for (const each of [path, ...above(path)]) {
      const writer = warned.has(each) ? undefined : await writerOf(each, users)
      if (writer === undefined) continue
      warned.add(each)
      log.warn('own-path-writable', { path: each, holds: what, uid: writer.uid })
    }
  }
}

/** A user of sandboxes that can write it. Of a range the owner, the group and any other user decide; each has the group of its own number. */
async function writerOf(path: string, { user, range }: SandboxUsers): Promise<SandboxUser | undefined> {
  const status = await stat(path).catch(() => null)
  if (status === null) return undefined
  const ids =
    range === null ? [] : [status.uid, status.gid, range.first].filter((id) => id >= range.first && id < range.first + range.count)
  return [user, ...ids.map((id) => ({ uid: id, gid: id }))].find((each) => isWritableFor(status, each))
}

function isWritableFor(status: Stats, { uid, gid }: SandboxUser): boolean {
  if (status.uid === uid) return true
  // In a sticky directory, such as /tmp, nobody replaces what is another's.
  if (status.isDirectory() && (status.mode & 0o1000) !== 0) return false
  return ((status.gid === gid ? status.mode >> 3 : status.mode) & 0o2) !== 0
}

function above(path: string): readonly string[] {
  const parent = dirname(path)
  return parent === path ? [] : [parent, ...above(parent)]
}

async function directoryOf(file: string, what: string): Promise<OwnPath> {
  const { path } = await resolved(file, what)
  return { path: dirname(path) === '/' ? path : dirname(path), what }
}

async function resolved(path: string, what: string): Promise<OwnPath> {
  return { path: await realpath(path).catch(() => path), what }
}
