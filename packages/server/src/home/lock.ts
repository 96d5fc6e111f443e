/**
 * One server per home: a lock that the kernel releases when its holder dies, however it dies.
 *
 * SQLite's exclusive lock is such a lock and Node brings it along; a file with a pid alone is either stale after a crash
 * or raced by two starters. The pid is written beside it only so that a refusal can name the holder.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { HoldfastError } from '@holdfast/protocol'

const SQLITE_BUSY = 5

export interface HomeLock {
  release(): void
}

/** Throws `home_locked` naming the process that holds this home. */
export function lockHome(home: string): HomeLock {
  const database = openLockFile(home)
  const pidPath = join(home, 'server.pid')
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    if (!isBusy(cause)) throw unusable(home, cause)
    throw new HoldfastError('home_locked', `another server (${holderOf(pidPath)}) already uses the home ${home}`, { home }, { cause })
  }
  writeFileSync(pidPath, `${process.pid}\n`)
  let isHeld = true
  return {
    release() {
      if (!isHeld) return
      isHeld = false
      rmSync(pidPath, { force: true })
      database.close()
    },
  }
}

function openLockFile(home: string): DatabaseSync {
  try {
    return new DatabaseSync(join(home, 'server.lock'), { timeout: 0 })
  } catch (cause) {
    throw unusable(home, cause)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
}

function unusable(home: string, cause: unknown): HoldfastError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new HoldfastError('config_invalid', `the home ${home} cannot be used: ${reason}`, { home }, { cause })
}

function holderOf(pidPath: string): string {
  try {
    return `pid ${readFileSync(pidPath, 'utf8').trim()}`
  } catch {
    // The holder has the lock but has not written its pid yet: the refusal stands without the number.
    return 'pid not yet known'
  }
}
