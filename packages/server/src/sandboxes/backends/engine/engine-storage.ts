/**
 * Where an engine keeps the layers of its images, and whether this server can use them: for writable roots it mounts them again, with
 * mapped owners.
 */
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { BackendNeeds } from '../../backend.ts'
import { isServerRoot } from '../../sandbox-user.ts'
import { NOT_ROOT, writableRootProblem } from '../overlay-trial.ts'

/** As the engine reports it. */
export interface EngineStorage {
  readonly driver: string
  readonly directory: string
}

export interface UsableStorage {
  /** Whether the launcher can mount something in the engine's containers: the server is root, and on the same host as the engine. */
  readonly reachesContainers: boolean
  readonly writableRootProblem: string | null
}

/** Drivers that report where the layers of a container are. */
const DRIVERS = ['overlay2', 'overlay']

export const otherDriver = (engine: string, driver: string): string =>
  `${engine} uses the storage driver '${driver}', which does not report where the layers of an image are; use overlay2 or overlay`

export const notVisible = (engine: string, directory: string): string =>
  `the images of ${engine} in '${directory}' are not visible to this server; run the server on the engine's host, outside of a container`

export async function usableStorage(
  engine: string,
  { driver, directory }: EngineStorage,
  needs: Pick<BackendNeeds, 'stateDir' | 'launcherPath'>,
  signal: AbortSignal,
): Promise<UsableStorage> {
  if (!isServerRoot()) return { reachesContainers: false, writableRootProblem: NOT_ROOT }
  const real = directory.startsWith('/') ? await realpath(directory).catch(() => null) : null
  if (real === null) return { reachesContainers: false, writableRootProblem: notVisible(engine, directory) }
  if (!DRIVERS.includes(driver)) return { reachesContainers: true, writableRootProblem: otherDriver(engine, driver) }
  return { reachesContainers: true, writableRootProblem: await writableRootProblem(needs, join(real, driver), signal) }
}
