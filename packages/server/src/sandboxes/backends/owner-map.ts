/**
 * Owner maps of mounts, as lines of `uid_map`: owner on disk, owner shown, how many. Groups of the same numbers are mapped alike.
 *
 * The kernel makes a file under the owner on disk when the owner shown creates it. A file system that takes no such map (overlayfs, NFS)
 * refuses the mount.
 */

/** The kernel has no user of this number. */
const NO_USER = 4_294_967_295

/** Files of one user are shown as those of another. Both are exchanged, so that no number means two users; all others stay. */
export function exchangedOwners(onDisk: number, shown: number): string {
  const [low, high] = onDisk < shown ? [onDisk, shown] : [shown, onDisk]
  return ownerLines([
    { onDisk: 0, shown: 0, count: low },
    { onDisk: low, shown: high, count: 1 },
    { onDisk: low + 1, shown: low + 1, count: high - low - 1 },
    { onDisk: high, shown: low, count: 1 },
    { onDisk: high + 1, shown: high + 1, count: NO_USER - high - 1 },
  ])
}

export interface ShownOwners {
  readonly onDisk: number
  readonly shown: number
  readonly count: number
}

/** Owners that are in no line are nobody's. */
export function ownerLines(owners: readonly ShownOwners[]): string {
  return owners.flatMap(({ onDisk, shown, count }) => (count > 0 ? [`${onDisk} ${shown} ${count}\n`] : [])).join('')
}
