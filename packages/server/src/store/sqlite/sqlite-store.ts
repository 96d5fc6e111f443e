/**
 * The store on SQLite: the embedded default, one file, one server.
 *
 * Stands beside the flow. The file is looked at through a reading connection first, and opened for writing only when nothing
 * speaks against it.
 */
import { HoldfastError } from '@holdfast/protocol'
import { sameFile } from '../../home/home-health.ts'
import { closable } from '../closable.ts'
import type { Sql, Store } from '../store.ts'
import { openConnection, type Connection } from './connection.ts'
import { waitWhileBusy } from './lock-wait.ts'
import { createReaders, readOneMoment } from './readers.ts'
import { fromSqliteError } from './sqlite-error.ts'
import { makePrivateFile, refuseDamaged } from './sqlite-file.ts'
import { createWriteQueue } from './write-queue.ts'

const LOCK_WAIT_MS = 5_000
const MEMORY = ':memory:'
/**
 * How long the log grows before it is emptied into the file, about 32 MB. Every command writes the same few pages again, so
 * emptying it seldom costs far less, and each time waits for the disk.
 */
const LOG_PAGES = 8_000

export interface SqliteOptions {
  /** How long to wait for another process's lock before giving up with `store_unavailable`. */
  readonly lockWaitMs?: number
  /** Looks at the database while it is open for reading only; what it throws leaves the file as it was. */
  readonly inspect?: (sql: Sql) => Promise<unknown>
  /** Another process's lock was in the way, and it is tried again. */
  readonly onRetry?: () => void
  /** The disk is full; `true` when there is room now, and the write is tried once more. */
  readonly onFull?: (() => boolean) | undefined
}

/** Opens the file, or makes it. `:memory:` is for tests: there, reads take their turn among the writes. */
export async function openSqliteStore(path: string, options: SqliteOptions = {}): Promise<Store> {
  const { lockWaitMs = LOCK_WAIT_MS, inspect = async () => undefined, onRetry, onFull } = options
  if (path === MEMORY) return openInMemory(lockWaitMs)
  makePrivateFile(path)
  const open: Connection[] = []
  try {
    const reading = openConnection(path, 'read')
    open.push(reading)
    await waitWhileBusy(lockWaitMs, () => refuseDamaged(reading, path))
    await readOneMoment(reading, path, inspect)
    const writing = openConnection(path, 'write', reading.origin)
    open.push(writing)
    await waitWhileBusy(lockWaitMs, () => useWriteAheadLog(writing, path))
    const readers = createReaders(reading, path)
    const queue = createWriteQueue({ connection: writing, path, lockWaitMs, onRetry, onFull, isFileThere: sameFile(path) })
    return closable(path, {
      dialect: 'sqlite',
      read: readers.read,
      write: (work, durability = 'power') => queue.add(work, durability),
      async close() {
        readers.close()
        // The last one to close empties the log into the file, which a reading connection could not.
        writing.close()
      },
    })
  } catch (error) {
    for (const connection of open) connection.close()
    throw fromSqliteError(error, path)
  }
}

function openInMemory(lockWaitMs: number): Store {
  const connection = openConnection(MEMORY, 'write')
  const queue = createWriteQueue({ connection, path: MEMORY, lockWaitMs })
  return closable(MEMORY, {
    dialect: 'sqlite',
    read: (work) => queue.add((transaction) => readOnly(connection, () => work(transaction)), 'process'),
    write: (work, durability = 'power') => queue.add(work, durability),
    close: async () => connection.close(),
  })
}

async function readOnly<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  connection.exec('PRAGMA query_only = ON')
  try {
    return await work()
  } finally {
    connection.exec('PRAGMA query_only = OFF')
  }
}

function useWriteAheadLog(connection: Connection, path: string): void {
  connection.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`)
  const mode = connection.get('PRAGMA journal_mode = WAL', [])?.journal_mode
  if (mode !== 'wal')
    throw new HoldfastError('store_unavailable', `the file system of ${path} cannot hold a write-ahead log (mode ${String(mode)})`, {
      path,
    })
}
