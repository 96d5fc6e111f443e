/**
 * The writing side of a SQLite store: one connection, a queue, and one commit for all that wait.
 *
 * Stands beside the flow. Everything that was asked for in one turn of the event loop runs one after the other inside one
 * transaction of SQLite, each in a savepoint of its own, so that twenty writers share one wait for the disk and a rejected one
 * rolls back alone. Nobody hears of success before the common commit.
 * Why on the main thread: docs/adr/0010-store.md
 */
import { HoldfastError } from '@holdfast/protocol'
import { performAll } from '../after-commit.ts'
import type { Durability, Transaction } from '../store.ts'
import type { Connection } from './connection.ts'
import { waitWhileBusy } from './lock-wait.ts'
import { openScope, type Scope } from './scope.ts'
import { fromSqliteError } from './sqlite-error.ts'

/** Between two batches the event loop gets its turn. */
const MAX_BATCH = 64

export interface WriteQueue {
  add<T>(work: (transaction: Transaction) => Promise<T>, durability: Durability): Promise<T>
}

interface Job {
  readonly durability: Durability
  /** Runs the work; gives what tells its caller of success. */
  attempt(scope: Scope): Promise<() => void>
  reject(error: unknown): void
}

interface DoneJob {
  readonly scope: Scope
  succeed(): void
}

interface Needs {
  readonly connection: Connection
  readonly path: string
  /** How long to wait for another process's lock. */
  readonly lockWaitMs: number
  /** That lock was in the way, and it is tried again. */
  readonly onRetry?: (() => void) | undefined
  /** Whether the path still names the open file: what is written to a deleted file is lost. */
  readonly isFileThere?: (() => boolean) | undefined
  /** The disk is full; `true` when there is room now, and the write is tried once more. */
  readonly onFull?: (() => boolean) | undefined
}

export function createWriteQueue({ connection, path, lockWaitMs, onRetry, isFileThere, onFull }: Needs): WriteQueue {
  const jobs: Job[] = []
  let isRunning = false
  let synchronous: 'FULL' | 'NORMAL' | null = null
  /** A damaged file is not written any further. */
  let damage: HoldfastError | null = null

  async function runAll(): Promise<void> {
    isRunning = true
    while (jobs.length > 0) {
      await nextTurn()
      await runBatch(jobs.splice(0, MAX_BATCH))
    }
    isRunning = false
  }

  async function runBatch(batch: readonly Job[], isLastTry = false): Promise<void> {
    const done: DoneJob[] = []
    const refused = new Set<Job>()
    try {
      if (damage !== null) throw damage
      if (isFileThere?.() === false) throw fileLost(path)
      syncAs(batch.some(({ durability }) => durability === 'power') ? 'FULL' : 'NORMAL')
      await waitWhileBusy(lockWaitMs, () => connection.frame('BEGIN IMMEDIATE'), onRetry)
      for (const job of batch) {
        const doneJob = await runAlone(job, batch.length > 1)
        if (doneJob === null) refused.add(job)
        else done.push(doneJob)
      }
      if (done.length > 0) connection.frame('COMMIT')
      else rollBack()
    } catch (error) {
      const failure = fromSqliteError(error, path)
      if (failure.code === 'store_corrupt') damage = failure
      rollBack()
      if (failure.code === 'store_full' && !isLastTry && onFull?.() === true)
        return runBatch(
          batch.filter((job) => !refused.has(job)),
          true,
        )
      // Those that were rejected on their own stay so: a promise hears its first answer only.
      for (const job of batch) job.reject(failure)
      return
    }
    for (const { scope, succeed } of done) {
      performAll(scope.actions)
      succeed()
    }
  }

  /** Gives null after a rollback of this job alone; throws when the whole batch is lost. One without company needs no savepoint. */
  async function runAlone(job: Job, isInCompany: boolean): Promise<DoneJob | null> {
    const scope = openScope(connection, path)
    if (isInCompany) connection.frame('SAVEPOINT job')
    try {
      const succeed = await job.attempt(scope)
      const failure = scope.end()
      if (failure !== null) throw failure
      if (isInCompany) connection.frame('RELEASE job')
      return { scope, succeed }
    } catch (error) {
      const failure = scope.end()
      // When SQLite itself has rolled back, the jobs before this one are gone too.
      if (!connection.isInTransaction || failure?.code === 'store_corrupt' || failure?.code === 'store_full') throw failure ?? error
      connection.frame(isInCompany ? 'ROLLBACK TO job' : 'ROLLBACK')
      if (isInCompany) connection.frame('RELEASE job')
      job.reject(error)
      return null
    }
  }

  function rollBack(): void {
    try {
      if (connection.isInTransaction) connection.frame('ROLLBACK')
    } catch {
      // The queue must go on: a connection that is stuck in a transaction refuses the next one by itself.
    }
  }

  /** Must stand before the transaction: inside one it has no effect. */
  function syncAs(wish: 'FULL' | 'NORMAL'): void {
    if (synchronous === wish) return
    connection.exec(`PRAGMA synchronous = ${wish}`)
    synchronous = wish
  }

  return {
    add: (work, durability) =>
      new Promise((resolve, reject) => {
        const attempt = async (scope: Scope) => {
          const value = await work(scope.transaction)
          return () => resolve(value)
        }
        jobs.push({ durability, attempt, reject })
        if (!isRunning) void runAll()
      }),
  }
}

/** Whatever the sockets bring in this turn of the event loop joins the batch. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function fileLost(path: string): HoldfastError {
  const message = `the database ${path} was removed or replaced below the running server; restore it and restart the server; nothing was changed`
  return new HoldfastError('store_unavailable', message, { path })
}
