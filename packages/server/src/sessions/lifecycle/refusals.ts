/**
 * Why a session cannot do what it is asked for, in one place each.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError, isErrorCode } from '@holdfast/protocol'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { isLive } from './state.ts'

/** One that could not be given a sandbox says what kept it from that. */
export function checkLive({ id, state, closeReason, closeDetail, failure }: SessionRow): void {
  if (isLive(state)) return
  if (closeReason === 'fail' && failure !== null && isErrorCode(failure.code)) throw new HoldfastError(failure.code, failure.message)
  throw new HoldfastError('session_closed', `the session ${id} is ${state}`, { state, reason: closeReason, detail: closeDetail })
}

export function checkNotHeld({ id, heldAt, heldReason }: SessionRow): void {
  if (heldAt !== null) throw new HoldfastError('session_held', `the session ${id} is held`, { reason: heldReason })
}

export function checkIncarnation({ incarnation }: SessionRow, expected: number | undefined): void {
  if (expected === undefined || expected === incarnation) return
  throw new HoldfastError('incarnation_changed', `incarnation ${expected} was expected, the session is at ${incarnation}`, {
    expected,
    incarnation,
  })
}

export function checkVersion({ version }: SessionRow, expected: number | undefined): void {
  if (expected === undefined || expected === version) return
  throw new HoldfastError('version_conflict', `version ${expected} was expected, the session is at ${version}`, { expected, version })
}
