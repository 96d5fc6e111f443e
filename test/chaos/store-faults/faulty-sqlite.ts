/**
 * A SQLite database that another process locks, and one on a small file system that is filled.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, rmdirSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { ExecutionRecord, FaultySubject } from './faulty-subject.ts'

/** Longer than the server waits for a lock (5 s), twice. */
const LOCKED_MS = 12_000
const FULL_MS = 4_000
const CHUNK = Buffer.alloc(65_536, 1)

export function openLockedSqlite(lockedMs = LOCKED_MS): FaultySubject {
  let home = ''
  return {
    name: 'SQLite',
    settings: {},
    useHome: (used) => void (home = used),
    records: async () => recordsIn(home),
    faults: {
      locked: {
        rounds: 20,
        async inflict() {
          const database = new DatabaseSync(databaseIn(home), { timeout: 5_000 })
          database.exec('BEGIN IMMEDIATE')
          await delay(lockedMs)
          database.exec('ROLLBACK')
          database.close()
        },
      },
    },
    close: async () => undefined,
  }
}

/** `null` where no file system may be mounted. */
export function openFullSqlite(fullMs = FULL_MS): FaultySubject | null {
  const stateDir = mkdtempSync(join(tmpdir(), 'holdfast-full-'))
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=0711', 'tmpfs', stateDir]).status !== 0) {
    rmdirSync(stateDir)
    return null
  }
  const filler = join(stateDir, 'filler')
  let home = ''
  return {
    name: 'SQLite',
    settings: {},
    stateDir,
    useHome: (used) => void (home = used),
    records: async () => recordsIn(home),
    faults: {
      'disk full': {
        rounds: 20,
        async inflict() {
          const until = performance.now() + fullMs
          const file = openSync(filler, 'w')
          // What the server gives back meanwhile is taken too.
          while (performance.now() < until) {
            fill(file)
            await delay(50)
          }
          closeSync(file)
          unlinkSync(filler)
        },
      },
    },
    async close() {
      if (existsSync(filler)) unlinkSync(filler)
      spawnSync('umount', ['-l', stateDir])
      rmdirSync(stateDir)
    },
  }
}

function fill(file: number): void {
  try {
    for (;;) writeSync(file, CHUNK)
  } catch {
    // Decision: the error is the aim, there is no space left.
  }
}

const databaseIn = (home: string) => join(home, 'holdfast.db')

function recordsIn(home: string): readonly ExecutionRecord[] {
  const database = new DatabaseSync(databaseIn(home), { readOnly: true, timeout: 5_000 })
  try {
    return database
      .prepare('SELECT id, status, exit_code FROM executions')
      .all()
      .map(({ id, status, exit_code: exitCode }) => ({
        ...{ id: String(id), status: String(status), exitCode: exitCode === null ? null : Number(exitCode) },
      }))
  } finally {
    database.close()
  }
}
