/**
 * A root that the sandbox's user can write to: overlays over files of the host, and directories on disk where a jail shows none of them.
 *
 * The launcher mounts each overlay over a lower directory whose owners are mapped, so that what belongs to root on the host belongs to the
 * sandbox's user inside. Changes go to the sandbox's root layer (`root-layer.ts`) and end with it. Why: docs/adr/0032-writable-roots.md
 */
import { chmod, chown, mkdir, symlink } from 'node:fs/promises'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_DATABASE } from '../../root-layer.ts'
import type { ViewEntry } from './filesystem-view.ts'

/** Where programs and packages expect to write; what lies in them on the host is never shown. */
const VAR_DIRECTORIES = ['backups', 'cache', 'lib', 'local', 'log', 'mail', 'opt', 'spool']
const APT_DIRECTORIES = ['cache/apt', 'cache/apt/archives', 'cache/apt/archives/partial', 'lib/apt', 'log/apt']

export function overlayOf(layer: string, source: string, target = source): Extract<ViewEntry, { kind: 'overlay' }> {
  return { kind: 'overlay', source, target, layer: join(layer, 'overlays', target.slice(1).replaceAll('/', '-')) }
}

/** `/opt` and `/var`; with `user: root` also the host's database of packages, so that a package manager knows what is installed. */
export function diskEntries(layer: string, isRoot: boolean): readonly ViewEntry[] {
  const databases = isRoot ? PACKAGE_DATABASE.filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory()) : []
  return [
    { kind: 'bind', source: join(layer, 'opt'), target: '/opt', mode: 'rw' },
    { kind: 'bind', source: join(layer, 'var'), target: '/var', mode: 'rw' },
    ...databases.map((path) => overlayOf(layer, path)),
  ]
}

/** The directories that these entries of a view need, owned by the sandbox's user. The sandbox is on record already. */
export async function makeRootLayer(layer: string, view: readonly ViewEntry[], owner: number): Promise<void> {
  const make = async (path: string) => {
    await mkdir(path)
    await chmod(path, 0o755)
    await chown(path, owner, owner)
  }
  const variable = join(layer, 'var')
  await mkdir(join(layer, 'overlays'), { recursive: true, mode: 0o700 })
  for (const path of [join(layer, 'opt'), variable]) await make(path)
  for (const name of [...VAR_DIRECTORIES, ...APT_DIRECTORIES]) await make(join(variable, name))
  await symlink('../run', join(variable, 'run'))
  await symlink('../tmp', join(variable, 'tmp'))
  for (const entry of view) {
    if (entry.kind !== 'overlay') continue
    await mkdir(entry.layer)
    await mkdir(join(entry.layer, 'work'))
    // The top of an overlay has the owner and the mode of its upper directory.
    await make(join(entry.layer, 'upper'))
  }
}
