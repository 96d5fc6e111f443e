/**
 * The reading side of a SQLite store: a few connections, each reading one moment at a time.
 *
 * Stands beside the flow. In write-ahead-log mode a reader sees what was committed when it began and waits for no writer. A read waits
 * only while all connections are taken, which ends soon because works await nothing but their statements.
 */
import type { Sql } from '../store.ts'
import { openConnection, type Connection } from './connection.ts'
import { openScope } from './scope.ts'
import { fromSqliteError } from './sqlite-error.ts'

const MAX_READERS = 4

export interface Readers {
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** No read may be running. */
  close(): void
}

/** Takes over a connection that is open already; more are opened when reads overlap. */
export function createReaders(first: Connection, path: string): Readers {
  const idle = [first]
  const waiting: ((connection: Connection) => void)[] = []
  let openCount = 1

  async function take(): Promise<Connection> {
    const free = idle.pop()
    if (free !== undefined) return free
    if (openCount >= MAX_READERS) return new Promise((resolve) => void waiting.push(resolve))
    try {
      const opened = openConnection(path, 'read', first.origin)
      openCount++
      return opened
    } catch (error) {
      throw fromSqliteError(error, path)
    }
  }

  function giveBack(connection: Connection): void {
    const next = waiting.shift()
    if (next === undefined) idle.push(connection)
    else next(connection)
  }

  return {
    async read(work) {
      const connection = await take()
      return readOneMoment(connection, path, work).finally(() => giveBack(connection))
    },
    close() {
      for (const connection of idle.splice(0)) connection.close()
    },
  }
}

/** Also rolls back, so that the connection holds no snapshot and the log can be emptied. */
export async function readOneMoment<T>(connection: Connection, path: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const scope = openScope(connection, path)
  connection.frame('BEGIN')
  try {
    const value = await work(scope.transaction)
    const failure = scope.end()
    if (failure !== null) throw failure
    return value
  } finally {
    scope.end()
    if (connection.isInTransaction) connection.frame('ROLLBACK')
  }
}
