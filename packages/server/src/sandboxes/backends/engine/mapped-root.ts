/**
 * The root and the users of a container with `user: root`: the image's layers below an overlay whose owners are mapped to the sandbox's users, and
 * a user namespace that the guest makes inside and the launcher maps from outside.
 *
 * The mount is needed only until the container has started, which keeps a copy of its own. Why: docs/adr/0034-root-inside.md
 */
import { mkdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { makeImageChanges } from '../../root-layer.ts'
import type { HostUsers } from '../../spec.ts'
import { ownerLines } from '../owner-map.ts'
import { runLauncher } from '../launcher.ts'
import { idsOfRoot } from '../user-ids.ts'

/** In the root layer of the sandbox: where the engine finds the root. */
export function mappedRootPath(layer: string): string {
  return join(layer, 'merged')
}

/** `images`: directories of the image's layers, the uppermost first. `layer`: a directory of the sandbox's own, where changes go. */
export async function mountMappedRoot(
  launcherPath: string,
  users: HostUsers | undefined,
  images: readonly string[],
  layer: string,
): Promise<void> {
  const owners = mapOf(users)
  const lowers = await Promise.all(images.map((path) => realpath(path)))
  const changes = await makeImageChanges(layer, users?.commands ?? 0)
  await mkdir(mappedRootPath(layer), { mode: 0o700 })
  await runLauncher(launcherPath, ['mount-container-root', owners, changes, mappedRootPath(layer), ...lowers])
}

/** Safe to repeat; a server that died has perhaps left the mount. */
export async function unmountMappedRoot(launcherPath: string, layer: string): Promise<void> {
  const path = mappedRootPath(layer)
  const [merged, around] = await Promise.all([stat(path).catch(() => null), stat(layer).catch(() => null)])
  if (merged !== null && merged.dev !== around?.dev) await runLauncher(launcherPath, ['remove-container-root', path])
}

/** Throws unless this process has the mapped root: an engine in another mount namespace would find an empty directory there. */
export async function assertMappedRoot(layer: string, firstPid: number): Promise<void> {
  const [ours, theirs] = await Promise.all([stat(mappedRootPath(layer)), stat(`/proc/${firstPid}/root/`).catch(() => null)])
  if (ours.dev === theirs?.dev) return
  throw new HoldfastError(
    'capability_unsupported',
    'the engine does not see the root that was made for the sandbox; run it in the mount and pid namespaces of the server',
    { capability: 'rootUser' },
  )
}

/** Gives the guest, which has made a user namespace and waits, and its commands their ids. */
export function mapUsers(launcherPath: string, firstPid: number, users: HostUsers | undefined, signal: AbortSignal): Promise<void> {
  return runLauncher(launcherPath, ['map-users', String(firstPid), mapOf(users)], signal)
}

/** The same lines map owners of files and users of processes. */
function mapOf(users: HostUsers | undefined): string {
  return ownerLines(idsOfRoot(users).map(({ inside, outside, count }) => ({ onDisk: inside, shown: outside, count })))
}
