/**
 * Cgroups of sandboxes whose state directory is gone, such as after somebody removed `sandboxes/` by hand.
 *
 * The parent's name has the server's id, so these are this server's. A state directory is made before a cgroup and removed after it: a cgroup
 * without one belongs to no sandbox that is being made or destroyed.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isSandboxName } from '../../sandbox-name.ts'
import { CONTROLLERS, findCgroups, isPlace } from './cgroup-layout.ts'

export interface StrayCgroups {
  /** Names of sandboxes that have cgroups here. */
  names(): Promise<ReadonlySet<string>>
  directoriesOf(name: string): readonly string[]
}

export function strayCgroups(serverId: string): StrayCgroups {
  const layout = findCgroups(serverId)
  const places = CONTROLLERS.map((controller) => layout[controller]).filter(isPlace)
  const freezer = layout.freezer ?? null
  const parents = [...new Set([...places, ...(freezer === null ? [] : [freezer])].map(({ parent }) => parent))]
  return {
    async names() {
      const found = await Promise.all(parents.map((parent) => readdir(parent).catch(() => [])))
      return new Set(found.flat().filter(isSandboxName))
    },
    directoriesOf: (name) => parents.map((parent) => join(parent, name)),
  }
}
