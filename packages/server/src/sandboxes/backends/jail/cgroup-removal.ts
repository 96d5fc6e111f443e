/**
 * The end of a sandbox's cgroups: everything in them killed, proved empty, removed.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../../../home/error-code.ts'
import { thawCgroups } from './cgroup-freezer.ts'
import { signalPid } from './process-identity.ts'

const REMOVAL_DEADLINE_MS = 10_000
const LONGEST_PAUSE_MS = 50

/** Safe for directories that never were or are gone. Throws when something in there cannot be ended. */
export async function removeCgroups(directories: readonly string[]): Promise<void> {
  // A frozen process of version 1 does not die before it is thawed.
  await thawCgroups(directories)
  for (const directory of directories) await removeCgroup(directory)
}

async function removeCgroup(directory: string): Promise<void> {
  const deadline = Date.now() + REMOVAL_DEADLINE_MS
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const left = await killMembers(directory)
    if (left === 0 && (await isRemoved(directory))) return
    if (Date.now() > deadline) {
      throw new HoldfastError(
        'internal',
        `the cgroup ${directory} still holds ${left} processes ${REMOVAL_DEADLINE_MS} ms after they were killed`,
      )
    }
    await pause(pauseMs)
  }
}

/** How many processes were there to kill. */
async function killMembers(directory: string): Promise<number> {
  const pids = await membersOf(directory)
  if (pids.length === 0) return 0
  // Version 2 kills all at once, also those that fork meanwhile; version 1 is asked again until nobody is left.
  if (!(await killedAtOnce(directory))) for (const pid of pids) signalPid(pid, 'SIGKILL')
  return pids.length
}

async function membersOf(directory: string): Promise<readonly number[]> {
  try {
    return (await readFile(join(directory, 'cgroup.procs'), 'utf8'))
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 0)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENODEV')) return []
    throw error
  }
}

async function killedAtOnce(directory: string): Promise<boolean> {
  try {
    // Without the flag to create: in version 1 there is no such file.
    await writeFile(join(directory, 'cgroup.kill'), '1', { flag: 'r+' })
    return true
  } catch {
    return false
  }
}

/** A process that has just died may keep the directory busy for a moment. */
async function isRemoved(directory: string): Promise<boolean> {
  try {
    await rmdir(directory)
    return true
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return true
    if (hasErrorCode(error, 'EBUSY', 'ENOTEMPTY')) return false
    throw error
  }
}
