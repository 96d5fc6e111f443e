/**
 * A mount inside another needs a mount point there, and a program in a sandbox may have left a symbolic link in its place.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Where the launcher stages the mounts it refuses such a link itself, with no moment between check and use. Where
 * bubblewrap makes the mount point (a server without root) this look comes first; a link planted in the moment after it
 * could make bubblewrap create an empty directory, as the server's user, and nothing more.
 */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { Mount } from '../../spec.ts'
import { hasErrorCode } from '../../../home/error-code.ts'

/** Throws `mount_refused`. */
export async function refusePlantedLinks(mounts: readonly Mount[]): Promise<void> {
  for (const inner of mounts) {
    for (const outer of mounts) {
      if (inner.target.startsWith(`${outer.target}/`)) await checkWay(outer, inner.target.slice(outer.target.length + 1))
    }
  }
}

async function checkWay(outer: Mount, way: string): Promise<void> {
  let path = outer.source
  for (const name of way.split('/')) {
    path = join(path, name)
    const isLink = await lstat(path).then(
      (status) => status.isSymbolicLink(),
      (error: unknown) => {
        // What is not there yet is made by the mount.
        if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return false
        throw error
      },
    )
    if (isLink)
      throw new HoldfastError('mount_refused', `nothing can be mounted at '${outer.target}/${way}': ${path} is a symbolic link`, { path })
  }
}
