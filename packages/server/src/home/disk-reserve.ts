/**
 * A file in the home that only occupies space: it is deleted when the disk is full, so that the store opens and deletions are recorded.
 *
 * Without it a server on a full disk cannot start, and nobody can make room through the API. It is made again when there is room.
 */
import { randomBytes } from 'node:crypto'
import { rmSync, statfsSync, statSync } from 'node:fs'
import { open, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'

const RESERVE_BYTES = 16 * 1024 * 1024
/** Below this a write of the store may fail at any moment. */
const FULL_BELOW_BYTES = 1024 * 1024
const CHUNK_BYTES = 1024 * 1024
const CHECK_EVERY_MS = 10_000

export interface DiskReserve {
  /** Deletes the reserve; `false` when there is none. */
  giveBack(): boolean
  /** Whether the disk has no space, or only what the reserve was. */
  isFull(): Promise<boolean>
  /** Makes the reserve when it is missing and there is room for it twice. The timer calls it. */
  restore(): Promise<void>
  close(): void
}

export interface DiskReserveNeeds {
  readonly home: string
  readonly log: Log
  /** The start had to give it back. */
  readonly wasGivenBack?: boolean
  readonly bytes?: number
}

/** Before anything is written at a start: `true` when the disk was full and the reserve has been deleted. */
export function giveBackWhenFull(home: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(home)
    return bavail * bsize < FULL_BELOW_BYTES && remove(reservePath(home))
  } catch {
    // The home does not exist yet, or cannot be used: the start says so.
    return false
  }
}

export function openDiskReserve({ home, log, wasGivenBack = false, bytes = RESERVE_BYTES }: DiskReserveNeeds): DiskReserve {
  const path = reservePath(home)
  let isGivenBack = wasGivenBack
  let restoring: Promise<void> | null = null

  function giveBack(): boolean {
    if (!remove(path)) return false
    isGivenBack = true
    log.error('disk-full', { home, hint: `the reserve of ${bytes} bytes was given back; delete files or sessions` })
    return true
  }

  async function restore(): Promise<void> {
    try {
      if (sizeOf(path) >= bytes || (await freeBytes(home)) < 2 * bytes) return
      await fill(`${path}.new`, bytes)
      await rename(`${path}.new`, path)
      if (isGivenBack) log.info('disk-reserve-restored', { home })
      isGivenBack = false
    } catch (error) {
      await rm(`${path}.new`, { force: true })
      log.warn('disk-reserve-not-made', { home, error: errorText(error) })
    }
  }

  const restoreOnce = () => (restoring ??= restore().finally(() => (restoring = null)))
  const timer = setInterval(() => void restoreOnce(), CHECK_EVERY_MS)
  timer.unref()
  return {
    giveBack,
    restore: restoreOnce,
    isFull: async () => isGivenBack || (await freeBytes(home)) < FULL_BELOW_BYTES,
    close: () => clearInterval(timer),
  }
}

function reservePath(home: string): string {
  return join(home, 'disk-reserve')
}

function remove(path: string): boolean {
  if (sizeOf(path) === 0) return false
  rmSync(path, { force: true })
  return true
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path)
  return bavail * bsize
}

/** With random bytes: a file system that compresses would keep no space for zeros. */
async function fill(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    const chunk = randomBytes(CHUNK_BYTES)
    for (let written = 0; written < bytes; written += chunk.length) await file.write(chunk, 0, Math.min(chunk.length, bytes - written))
    await file.sync()
  } finally {
    await file.close()
  }
}
