/**
 * The end of a session: asked for once, cleaned up, over for good.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The first closer wins; whoever comes later gets the record with its real reason. One escalation is legal: a cancel
 * while a release still waits for running work.
 */
import type { CloseReason } from '@holdfast/protocol'
import type { Cleanup, SessionRow } from '../../store/tables/sessions.ts'
import { withdrawn, without } from './credentials.ts'
import { CLOSED_STATE_OF, isLive } from './state.ts'
import { step, unchanged } from './step.ts'
import type { Step } from './step.ts'

export interface Closing {
  readonly reason: CloseReason
  readonly detail: string
  /** How long running work may go on; 0 kills at once. */
  readonly drainMs?: number
  readonly workspace?: SessionRow['workspaceOnClose']
  readonly failure?: { readonly code: string; readonly message: string }
}

export function beginClosing(session: SessionRow, closing: Closing, now: number): Step {
  const { reason, detail, drainMs = 0 } = closing
  const isEscalation = isDraining(session, now) && session.closeReason === 'release' && reason === 'cancel'
  if (!isLive(session.state) && !isEscalation) return unchanged(session)
  // Nothing outlives its lifetime, not even by draining.
  const drainUntil = Math.min(now + drainMs, session.lifetimeAt ?? Number.POSITIVE_INFINITY)
  return step(
    session,
    {
      state: 'closing',
      pendingReason: null,
      closeReason: reason,
      closeDetail: detail,
      closingAt: now,
      drainUntil: session.running > 0 && drainUntil > now ? drainUntil : null,
      workspaceOnClose: closing.workspace ?? session.workspaceOnClose,
      failure: closing.failure ?? session.failure,
      credentials: session.credentials.length === 0 ? session.credentials : withdrawn(session),
    },
    { type: 'session.closing', reason, data: { detail, running: session.running } },
  )
}

/** Whether running work may still go on. */
export function isDraining({ state, running, drainUntil }: SessionRow, now: number): boolean {
  return state === 'closing' && running > 0 && drainUntil !== null && now < drainUntil
}

/** Everything is cleaned up, or as far as it could be. What still counted as running is over with it. */
export function finishClosing(session: SessionRow, cleanup: Cleanup, now: number): Step {
  if (session.state !== 'closing' || session.closeReason === null) return unchanged(session)
  const state = CLOSED_STATE_OF[session.closeReason]
  const { credentials, events } = without(session, state, () => false)
  return step(session, { state, closedAt: now, cleanup, running: 0, sandboxId: null, notice: null, credentials }, ...events, {
    type: `session.${state}`,
    reason: session.closeDetail ?? session.closeReason,
    data: { ...cleanup, executions_total: session.executionCount },
  })
}
