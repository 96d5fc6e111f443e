/**
 * Whether a root can be writable here: the server is root, and an overlay with mapped owners can really be mounted over these files.
 */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol'
import type { BackendNeeds } from '../backend.ts'
import { isServerRoot } from '../sandbox-user.ts'
import { removeTree } from '../../home/remove-tree.ts'
import { tryOverlay } from './launcher.ts'

export const NOT_ROOT = 'only root can show files of the host as those of the sandbox’s user; start the server as root'

type TrialNeeds = Pick<BackendNeeds, 'stateDir' | 'launcherPath'>

/** The reason and what would change it, or `null` when it can. */
export async function writableRootProblem(
  { stateDir, launcherPath }: TrialNeeds,
  lower: string,
  signal?: AbortSignal,
): Promise<string | null> {
  if (!isServerRoot()) return NOT_ROOT
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const layer = await mkdtemp(join(stateDir, '.trying-overlay-'))
  try {
    for (const name of ['upper', 'work']) await mkdir(join(layer, name))
    await tryOverlay(launcherPath, lower, layer, signal)
    return null
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    return `${lower} cannot be the lower directory of an overlay with mapped owners (${error.message}); Linux 5.19 and a file system that takes owner maps, such as ext4 or XFS, are needed below ${lower} and the server's home`
  } finally {
    await removeTree(layer)
  }
}
