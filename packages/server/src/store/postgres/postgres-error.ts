/**
 * What PostgreSQL's SQLSTATE codes, and a connection that breaks, mean to a caller.
 *
 * Stands beside the flow. Messages name host and database, never the user's password.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'

/** The server's answer was not its own fault alone: too slow, shutting down, no more connections, wrong password, a standby. */
const UNAVAILABLE = /^(08|28|53|57|25P03|25006|3D000|55P03|40001|40P01)/
const DISK_FULL = '53100'
const CORRUPTED = /^XX00[12]/
const CONSTRAINT = /^23/
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK = '40P01'

/** A failure of the `pg` client as the one error type. `place` names host and database. */
export function fromPostgresError(error: unknown, place: string): HoldfastError {
  if (isHoldfastError(error)) return error
  const state = sqlState(error)
  const options = { cause: error }
  if (state === null)
    return new HoldfastError('store_unavailable', `the database ${place} does not answer; nothing was changed`, { place }, options)
  if (state === DISK_FULL)
    return new HoldfastError('store_full', `no space is left for the database ${place}; nothing was changed`, { place }, options)
  if (CORRUPTED.test(state))
    return new HoldfastError('store_corrupt', `the database ${place} is damaged; nothing was changed`, { place }, options)
  if (UNAVAILABLE.test(state))
    return new HoldfastError('store_unavailable', `the database ${place} refused (${state}); nothing was changed`, { place }, options)
  const what = CONSTRAINT.test(state) ? 'a constraint of the database refused a change' : 'a statement failed'
  return new HoldfastError('internal', `${what} (${state}); nothing was changed`, { place }, options)
}

/** The connection broke between the request to commit and its answer. */
export function commitUnknown(error: unknown, place: string): HoldfastError {
  const message = `the database ${place} was lost during a commit; it is not known whether the change was kept`
  return new HoldfastError('store_unavailable', message, { place, isOutcomeKnown: false }, { cause: error })
}

/** Whether PostgreSQL took the transaction back only because of others, so that it may be run again. */
export function isWorthAnotherTry(error: HoldfastError): boolean {
  const state = sqlState(error.cause)
  return state === SERIALIZATION_FAILURE || state === DEADLOCK
}

/** Whether the connection broke, or the server ended it; then nobody knows how far the last statement came. */
export function isConnectionLost(error: unknown): boolean {
  if (error === undefined || isHoldfastError(error)) return false
  const state = sqlState(error)
  return state === null || /^(08|57P)/.test(state)
}

/** Null when it was not the server that spoke, but the connection that failed. */
function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}
