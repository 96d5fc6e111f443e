/**
 * What the states of a session mean to the server.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { CLOSED_STATES, LIVE_STATES } from '@holdfast/protocol'
import type { ClosedState, CloseReason, LiveState, SessionState } from '@holdfast/protocol'

/** Where each reason to close ends. */
export const CLOSED_STATE_OF = {
  release: 'released',
  cancel: 'cancelled',
  expire: 'expired',
  fail: 'failed',
} as const satisfies Record<CloseReason, ClosedState>

export function isClosed(state: SessionState): state is ClosedState {
  return CLOSED_STATES.some((closed) => closed === state)
}

export function isLive(state: SessionState): state is LiveState {
  return LIVE_STATES.some((live) => live === state)
}
