/**
 * Whether a container shows what was checked: mount sources are paths, and paths can be swapped while an engine works.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * An engine follows whatever links it finds at the moment it mounts. A program in another sandbox may be able to write
 * the directory that a source lies in. So each source is identified before creation, and what really is mounted is
 * compared with it afterwards, while no command has run inside yet.
 */
import { realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../../../home/error-code.ts'
import type { Mount } from '../../spec.ts'

export interface IdentifiedMount {
  readonly mount: Mount
  readonly device: bigint
  readonly inode: bigint
}

/** Throws `mount_refused` for a source that is missing or is no longer the canonical path it was checked as. */
export async function identifyMounts(mounts: readonly Mount[]): Promise<readonly IdentifiedMount[]> {
  return Promise.all(
    mounts.map(async (mount) => {
      const canonical = await realpath(mount.source).catch((cause: unknown) => {
        throw new HoldfastError('mount_refused', `${mount.source} is to be mounted but does not exist`, { source: mount.source }, { cause })
      })
      if (canonical !== mount.source) throw swapped(mount)
      const { dev, ino } = await stat(mount.source, { bigint: true })
      return { mount, device: dev, inode: ino }
    }),
  )
}

/** Those that somebody else than the server could swap: only the server writes below its own directory. */
export function swappable(mounts: readonly IdentifiedMount[], stateDir: string): readonly IdentifiedMount[] {
  return mounts.filter(({ mount }) => !mount.source.startsWith(stateDir + sep))
}

/** Throws `mount_refused` unless the first process of the sandbox sees exactly the identified files at their targets. */
export async function assertMounted(mounts: readonly IdentifiedMount[], firstPid: number): Promise<void> {
  for (const { mount, device, inode } of mounts) {
    const shown = await shownAt(mount, `/proc/${firstPid}/root${mount.target}`)
    if (shown.dev !== device || shown.ino !== inode) throw swapped(mount)
  }
}

async function shownAt(mount: Mount, place: string) {
  try {
    return await stat(place, { bigint: true })
  } catch (error) {
    if (!hasErrorCode(error, 'EACCES', 'EPERM')) throw swapped(mount, error)
    // A server that may not look inside an engine's process can only look again where the engine looked.
    await identifyMounts([mount])
    return await stat(mount.source, { bigint: true })
  }
}

function swapped(mount: Mount, cause?: unknown): HoldfastError {
  const options = cause === undefined ? undefined : { cause }
  return new HoldfastError(
    'mount_refused',
    `${mount.source} was replaced by something else after it was checked`,
    { source: mount.source },
    options,
  )
}
