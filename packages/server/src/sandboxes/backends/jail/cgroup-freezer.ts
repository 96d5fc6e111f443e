/**
 * Freezes every process of a sandbox at once through one of its cgroups, and lets them go on.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { hasErrorCode } from '../../../home/error-code.ts'

/** A process in a long write stops when that returns; whoever freezes does not wait longer for it. */
const FREEZE_DEADLINE_MS = 20

const VERSIONS = [
  { file: 'cgroup.freeze', freeze: '1', thaw: '0', state: 'cgroup.events', isFrozen: (text: string) => /^frozen 1$/m.test(text) },
  { file: 'freezer.state', freeze: 'FROZEN', thaw: 'THAWED', state: 'freezer.state', isFrozen: (text: string) => text.trim() === 'FROZEN' },
] as const

/** Resolves when they are frozen, or soon will be. Does nothing where none of the cgroups can be frozen. */
export async function freezeCgroups(directories: readonly string[]): Promise<void> {
  for (const directory of directories)
    for (const { file, freeze, state, isFrozen } of VERSIONS) {
      if (!(await isWritten(join(directory, file), freeze))) continue
      const deadline = performance.now() + FREEZE_DEADLINE_MS
      while (!isFrozen(await readFile(join(directory, state), 'utf8')) && performance.now() < deadline) await pause(1)
      return
    }
}

/** Safe for cgroups that are not frozen or not there. */
export async function thawCgroups(directories: readonly string[]): Promise<void> {
  for (const directory of directories) for (const { file, thaw } of VERSIONS) await isWritten(join(directory, file), thaw)
}

async function isWritten(path: string, value: string): Promise<boolean> {
  try {
    // Without the flag to create: a hierarchy has one of the files or none.
    await writeFile(path, value, { flag: 'r+' })
    return true
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENODEV')) return false
    throw error
  }
}
