/**
 * Whether a change of a profile loosens what it locks: the field is no longer locked, or its value allows more than before.
 *
 * Values that cannot be compared, such as two images, count as looser when they differ.
 */
import { WORKSPACE_MODES } from '@holdfast/protocol'
import type { LockableField } from '@holdfast/protocol'
import type { Profile } from './profiles.ts'

type Looser = (before: Profile, after: Profile) => boolean

const orNoLimit = (limit: number | null) => limit ?? Number.POSITIVE_INFINITY
const more =
  (of: (profile: Profile) => number): Looser =>
  (before, after) =>
    of(after) > of(before)

const LOOSER: Readonly<Record<LockableField, Looser>> = {
  image: (before, after) => before.image !== after.image,
  network: more(({ network }) => (network === 'on' ? 1 : 0)),
  rootfs: more(({ rootfs }) => (rootfs === 'writable' ? 1 : 0)),
  home: more(({ home }) => (home === 'persistent' ? 1 : 0)),
  user: more(({ user }) => (user === 'root' ? 1 : 0)),
  'workspace.mode': more(({ workspaceMode }) => -WORKSPACE_MODES.indexOf(workspaceMode)),
  'limits.cpus': more(({ cpus }) => orNoLimit(cpus)),
  'limits.memory_bytes': more(({ memoryBytes }) => orNoLimit(memoryBytes)),
  'limits.pids': more(({ pids }) => orNoLimit(pids)),
  // `null` is the server's bound, whatever that is.
  'limits.workspace_bytes': ({ workspaceBytes: before }, { workspaceBytes: after }) =>
    before !== after && (before === null || after === null || after > before),
}

/** `after` is `null` for a profile that is removed: one of the same name could take its place without the locks. */
export function loosenedFields(before: Profile, after: Profile | null): readonly LockableField[] {
  return before.locked.filter((field) => after === null || !after.locked.includes(field) || LOOSER[field](before, after))
}
