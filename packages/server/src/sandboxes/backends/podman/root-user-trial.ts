/**
 * Whether this Podman can give `user: root`: the server is root, image layers are directories, and they really can be mounted with mapped owners.
 */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTree } from '../../../home/remove-tree.ts'
import type { BackendNeeds } from '../../backend.ts'
import { DEFAULT_UID_RANGE, hostUsersOf, systemUsersOf } from '../../host-users.ts'
import { isServerRoot } from '../../sandbox-user.ts'
import { mountMappedRoot, unmountMappedRoot } from '../engine/mapped-root.ts'
import { explainRefusal, gatherEvidence } from '../jail/userns-refusal.ts'
import type { PodmanInfo } from './podman-facts.ts'

export const NOT_ROOT = 'only root can give a container user ids of its own; start the server as root'

export function notOverlay(driver: string): string {
  return `it needs the layers of images as directories, and Podman keeps them with the driver ${driver}; set driver = "overlay" in /etc/containers/storage.conf`
}

/** The reason and what would change it, or `null` when it can. */
export async function rootUserProblem({ host, store }: PodmanInfo, { stateDir, launcherPath }: BackendNeeds): Promise<string | null> {
  if (host.security.rootless || !isServerRoot()) return NOT_ROOT
  if (store.driver !== 'overlay') return notOverlay(store.driver)
  // The guest makes its user namespace as an unprivileged user. What AppArmor says to that, only a container would show.
  const evidence = gatherEvidence('', '')
  if (evidence.maxUserNamespaces === 0 || evidence.cloneForbidden) {
    const { reason, fix } = explainRefusal(evidence)
    return `${reason}; ${fix}`
  }
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const layer = await mkdtemp(join(stateDir, '.trying-root-'))
  try {
    const users = hostUsersOf(DEFAULT_UID_RANGE, '')
    const system = systemUsersOf(DEFAULT_UID_RANGE, '', [users.commands, users.guest]) ?? DEFAULT_UID_RANGE.first
    // What lies in the storage does not matter: only whether its file system takes the map.
    await mountMappedRoot(launcherPath, { ...users, system }, [store.directory], layer)
    return null
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return `the layers of images cannot be mounted with mapped owners (${reason}); Linux 5.19 and a file system that takes owner maps, such as ext4 or XFS, are needed below ${store.directory} and the server's home`
  } finally {
    await unmountMappedRoot(launcherPath, layer)
    await removeTree(layer)
  }
}
