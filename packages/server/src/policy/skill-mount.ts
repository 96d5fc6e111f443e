/**
 * The view of skills in a session's sandbox: one more mount, inside the workspace.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * A mount needs a directory to be made on. In the session's own files the server sees to that, whatever a program has left there. A directory
 * of the host that a caller works in is the caller's: an empty `.skills` is made in one that may be written, and in no other.
 */
import { access, constants, lstat, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_WORKSPACE } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { randomId } from '../home/random-id.ts'
import type { Mount } from '../sandboxes/spec.ts'
import { SKILLS_TARGET } from '../skills/skill-views.ts'
import { checkTargets } from './mount-targets.ts'
import { serverMount } from './mounts.ts'

const MOUNT_POINT = SKILLS_TARGET.slice(DEFAULT_WORKSPACE.length + 1)

/** The mounts with the view among them, parents first; without it where there is no place for it. `own` are those of the session's own files. */
export async function withSkillView(mounts: readonly Mount[], view: string, own: readonly Mount[]): Promise<readonly Mount[]> {
  const isTaken = mounts.some(({ target }) => target === SKILLS_TARGET)
  const workspace = mounts.find(({ target }) => target === DEFAULT_WORKSPACE)
  if (isTaken || (workspace !== undefined && !(await makePoint(workspace, own.includes(workspace))))) return mounts
  return checkTargets([...mounts, await serverMount(view, SKILLS_TARGET, 'rw')])
}

/** No sandbox of this session runs. `false`: there is none, and none is made. */
async function makePoint({ source, mode }: Mount, isOwn: boolean): Promise<boolean> {
  const point = join(source, MOUNT_POINT)
  // Files of a subordinate user: `Workspaces.makePoint` makes it there.
  if (isOwn && !(await isOpen(source))) return true
  if (isOwn && !(await isDirectoryOrNothing(point))) await rename(point, `${point}-${randomId('old')}`)
  if (isOwn || mode === 'rw')
    await mkdir(point, { mode: 0o755 }).catch((error: unknown) => {
      if (!hasErrorCode(error, 'EEXIST', 'EACCES', 'EROFS', 'EPERM')) throw error
    })
  const status = await lstat(point).catch(() => null)
  return status?.isDirectory() === true
}

async function isOpen(directory: string): Promise<boolean> {
  return access(directory, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function isDirectoryOrNothing(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory()
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return true
    throw error
  }
}
