/**
 * What the launcher mounts in a container after the engine has started it, because engines know no owner maps: the writable places of the
 * image, and shared directories of the host. Why: docs/adr/0032-writable-roots.md, docs/adr/0033-shared-directories.md
 *
 * The engine binds every mount of the spec too, so each target exists, on a read-only root as well. What the launcher mounts covers it.
 */
import type { Mount } from '../../spec.ts'
import { exchangedOwners } from '../owner-map.ts'

/** What belongs to root in these directories of an image belongs to the sandbox's user in a writable root. */
const WRITABLE_PLACES: readonly string[] = ['/usr', '/opt', '/var']

export interface ImageLayers {
  /** Topmost first, as the engine lists them. */
  readonly directories: readonly string[]
  /** Holds `upper` and `work`. */
  readonly changes: string
}

/** The words of `mount-in-container` (`guest/launcher/container-mounts.h`); none where the engine's own mounts are enough. */
export function containerMounts(mounts: readonly Mount[], user: number, image: ImageLayers | null): readonly string[] {
  const covered = image === null ? [] : [...WRITABLE_PLACES]
  const words = image === null ? [] : imageWords(image, user)
  for (const { source, target, mode, owner = user } of mounts) {
    if (owner === user && !covered.some((place) => target === place || target.startsWith(`${place}/`))) continue
    covered.push(target)
    words.push('directory', source, mode, owner === user ? '' : exchangedOwners(owner, user), target)
  }
  return words
}

function imageWords({ directories, changes }: ImageLayers, user: number): string[] {
  return ['image', directories.join(':'), changes, exchangedOwners(0, user), WRITABLE_PLACES.join(' ')]
}
