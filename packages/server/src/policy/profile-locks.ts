/**
 * What a caller may not change under a profile.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import { DEFAULT_WORKSPACE, HoldfastError, WORKSPACE_MODES } from '@holdfast/protocol'
import type { LockableField, SandboxWish, WorkspaceMode } from '@holdfast/protocol'
import type { Profile } from './profiles.ts'

const VALUES: Readonly<Record<LockableField, (wish: SandboxWish) => string | number | null | undefined>> = {
  image: ({ image }) => image,
  network: ({ network }) => network,
  rootfs: ({ rootfs }) => rootfs,
  home: ({ home }) => home,
  user: ({ user }) => user,
  'workspace.mode': ({ workspace }) => workspace?.mode,
  'limits.cpus': ({ limits }) => limits?.cpus,
  'limits.memory_bytes': ({ limits }) => limits?.memory_bytes,
  'limits.pids': ({ limits }) => limits?.pids,
  'limits.workspace_bytes': ({ limits }) => limits?.workspace_bytes,
}

/** `unchanged` is what the profile makes of a wish for nothing. Throws `profile_locked` naming the fields. */
export function checkLocks({ name, locked, workspaceMode }: Profile, wish: SandboxWish, unchanged: SandboxWish): void {
  const wrong: { readonly field: string; readonly says: string }[] = []
  for (const field of locked) {
    const asked = VALUES[field](wish)
    const fixed = VALUES[field](unchanged)
    if (asked !== undefined && asked !== (fixed ?? null))
      wrong.push({ field, says: `${field} (${asked ?? 'none'}; it is ${fixed ?? 'none'})` })
  }
  if (locked.includes('workspace.mode')) wrong.push(...waysAround(wish, workspaceMode))
  if (wrong.length === 0) return
  const list = wrong.map(({ says }) => says).join(', ')
  throw new HoldfastError('profile_locked', `the profile '${name}' does not allow another value of ${list}`, {
    profile: name,
    fields: wrong.map(({ field }) => field),
  })
}

/** A workspace that must not be written is not to be had by another name either. */
function waysAround({ workspace, mounts = [] }: SandboxWish, locked: WorkspaceMode): { readonly field: string; readonly says: string }[] {
  const power = (mode: WorkspaceMode) => WORKSPACE_MODES.length - WORKSPACE_MODES.indexOf(mode)
  const target = workspace?.target ?? DEFAULT_WORKSPACE
  return [
    ...(locked === 'ro' && target !== DEFAULT_WORKSPACE
      ? [{ field: 'workspace.target', says: `workspace.target (${target}; it is ${DEFAULT_WORKSPACE})` }]
      : []),
    ...mounts.flatMap((mount, index) =>
      power(mount.mode) > power(locked)
        ? [{ field: `mounts.${index}.mode`, says: `mounts.${index}.mode (${mount.mode}; at most ${locked})` }]
        : [],
    ),
  ]
}
