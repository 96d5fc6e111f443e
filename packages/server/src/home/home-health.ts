/**
 * Whether the home is still there below the running server: the database file, the directories, space on the disk.
 */
import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import type { DiskReserve } from './disk-reserve.ts'
import type { Home } from './home.ts'

/** The embedded database. */
export function databasePathOf(home: string): string {
  return join(home, 'holdfast.db')
}

/** Tells whether a path still names the file that it named when this was called. */
export function sameFile(path: string): () => boolean {
  const { dev, ino } = statSync(path)
  return () => {
    const now = statSync(path, { throwIfNoEntry: false })
    return now?.dev === dev && now.ino === ino
  }
}

export interface HomeHealthNeeds {
  readonly home: Home
  readonly reserve: DiskReserve
  readonly log: Log
  /** `null`: the database is not in the home. */
  readonly databasePath: string | null
}

/** Throws `store_unavailable` with what is wrong; the log names it once. */
export function homeHealth({ home, reserve, log, databasePath }: HomeHealthNeeds): () => Promise<void> {
  const directories = [home.workspacesDir, home.outputDir, home.packsDir, home.skillsDir]
  const isDatabaseThere = databasePath === null ? () => true : sameFile(databasePath)
  let logged: string | null = null

  async function problem(): Promise<{ readonly part: string; readonly message: string; readonly path: string } | null> {
    if (!isDatabaseThere())
      return { part: 'store', message: 'the database file was removed or replaced below the running server', path: databasePath ?? '' }
    for (const path of directories)
      if (!(await isDirectory(path))) return { part: 'home', message: 'a directory of the home is missing', path }
    if (await reserve.isFull()) return { part: 'disk', message: 'no space is left on the disk of the home', path: home.path }
    return null
  }

  return async () => {
    const found = await problem().catch((error: unknown) => ({ part: 'home', message: errorText(error), path: home.path }))
    const line = found === null ? null : `${found.message}: ${found.path}`
    if (line !== logged && line !== null)
      log.error('home-not-usable', { problem: line, hint: 'restore it from a backup, or restart the server' })
    logged = line
    if (found !== null) throw new HoldfastError('store_unavailable', found.message, { part: found.part })
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true
}
