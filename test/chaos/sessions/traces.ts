/**
 * What a server and its sandboxes left on the host, once everything of it was ended and forgotten. Read past the code under test.
 */
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Home } from '../../../packages/server/src/home/home.ts'
import { containersOf } from '../../../packages/server/src/sandboxes/contract/engine-facts.ts'
import { cgroupsNamed, mountsOf, processesOf, socketsOf } from '../../../packages/server/src/sandboxes/contract/traces.ts'
import type { Ground } from './server-life.ts'

export async function tracesOf({ directory, under }: Ground, { path, serverId }: Home): Promise<readonly string[]> {
  const marker = join(basename(directory), basename(path))
  const { dockerSocket } = under.settings
  const left = await Promise.all(
    ['workspaces', 'output', 'sandboxes'].map(async (place) => {
      const names = await readdir(join(path, place)).catch(() => [])
      // A backend's own scratch, in which nothing ever ran; it clears that by itself after a while.
      return names.filter((name) => !name.startsWith('.making-')).map((name) => `${place} ${name}`)
    }),
  )
  const packs = await readdir(join(path, 'packs'), { recursive: true }).catch(() => [])
  const cgroups = cgroupsNamed('sbx_').filter((name) => name.includes(serverId))
  return [
    ...left.flat(),
    ...packs.filter((name) => name.includes('ses_')).map((name) => `pack ${name}`),
    ...(dockerSocket === undefined ? [] : await containersOf(dockerSocket, marker)).map((id) => `container ${id}`),
    ...processesOf(marker).map(({ pid, command }) => `process ${pid} ${command}`),
    ...mountsOf(marker).map((line) => `mount ${line}`),
    ...socketsOf(marker).map((line) => `socket ${line}`),
    ...cgroups.map((name) => `cgroup ${name}`),
  ]
}
