/**
 * What SQLite's result codes mean to a caller.
 *
 * Stands beside the flow. The numbers are part of SQLite's file `sqlite3.h` and never change.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'

const BUSY = 5
const CORRUPT = 11
const FULL = 13
const CONSTRAINT = 19
const NOT_A_DATABASE = 26
/** Locked, no permission, read-only, input or output failed, cannot be opened, refused by the system. */
const UNAVAILABLE = [BUSY, 6, 3, 8, 10, 14, 15, 23]
/** The shared index of the log could not grow: there is no space. */
const IOERR_SHM_SIZE = 4874
/** The file system itself says that its data is damaged. */
const IOERR_CORRUPT_FILE_SYSTEM = 8458

/** A failure of SQLite as the one error type; what is one already stays as it is. */
export function fromSqliteError(error: unknown, path: string): HoldfastError {
  if (isHoldfastError(error)) return error
  const code = resultCode(error)
  const primary = code & 0xff
  const details = { path }
  if (primary === CORRUPT || primary === NOT_A_DATABASE || code === IOERR_CORRUPT_FILE_SYSTEM)
    return new HoldfastError('store_corrupt', `the database ${path} is damaged or not a database; nothing was changed`, details, {
      cause: error,
    })
  if (primary === FULL || code === IOERR_SHM_SIZE)
    return new HoldfastError('store_full', `no space is left for the database ${path}; nothing was changed`, details, { cause: error })
  if (primary === BUSY)
    return new HoldfastError('store_unavailable', `another process locks the database ${path}; nothing was changed`, details, {
      cause: error,
    })
  if (UNAVAILABLE.includes(primary))
    return new HoldfastError('store_unavailable', `the database ${path} cannot be used (${reason(error)}); nothing was changed`, details, {
      cause: error,
    })
  const what = primary === CONSTRAINT ? 'a constraint of the database refused a change' : 'a statement failed'
  return new HoldfastError('internal', `${what}; nothing was changed`, details, { cause: error })
}

/** Whether another connection holds the lock, so that waiting may help. */
export function isBusy(error: unknown): boolean {
  return (resultCode(error) & 0xff) === BUSY
}

function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0
}

function reason(error: unknown): string {
  return error instanceof Error && 'errstr' in error ? String(error.errstr) : 'unknown reason'
}
