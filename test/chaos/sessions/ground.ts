/**
 * A place for servers that die: a directory with a name of its own, a guest, a database; gone afterwards.
 */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BackendUnderTest } from '../../environment/machine.ts'
import { openBackend } from '../open-backend.ts'
import type { Databases } from './databases.ts'
import type { Ground } from './server-life.ts'

const GUEST = fileURLToPath(new URL('../../../guest/build/holdfast-guest', import.meta.url))
const LAUNCHER = fileURLToPath(new URL('../../../guest/build/holdfast-launcher', import.meta.url))

export async function onGround<T>(under: BackendUnderTest, databases: Databases, work: (ground: Ground) => Promise<T>): Promise<T> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-crash-')))
  const storeUrl = await databases.make()
  const ground: Ground = { directory, storeUrl, launcherPath: LAUNCHER, under }
  try {
    // A copy of its own makes every process of this place recognisable by its mounts.
    copyFileSync(GUEST, join(directory, 'guest'))
    return await work(ground)
  } finally {
    await destroySandboxes(ground)
    await databases.drop(storeUrl)
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Nothing is left unless something went wrong; then the machine must not pay for it. */
async function destroySandboxes({ directory, launcherPath, under }: Ground): Promise<void> {
  for (const name of readdirSync(directory)) {
    const stateDir = join(directory, name)
    if (!existsSync(join(stateDir, 'server-id'))) continue
    const serverId = readFileSync(join(stateDir, 'server-id'), 'utf8').trim()
    const backend = openBackend(under, { serverId, stateDir, guestPath: join(directory, 'guest'), launcherPath })
    for (const sandbox of await backend.list()) await backend.destroy(sandbox.name)
    if ('close' in backend && typeof backend.close === 'function') await backend.close()
  }
}
