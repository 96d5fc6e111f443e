/**
 * What a deadline does to a session, decided from its row as it is now.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The sweep only finds candidates. Activity that came in between has moved the deadline, and then nothing happens.
 */
import type { SessionRow } from '../../store/tables/sessions.ts'
import { beginClosing } from './closing.ts'
import { suspend } from './compute.ts'
import { nextDeadline } from './deadlines.ts'
import type { Due } from './deadlines.ts'
import { step, unchanged } from './step.ts'
import type { Step } from './step.ts'
import { becomeIdle } from './work.ts'

/** How long work may go on when a lease ends under it. */
export const DRAIN_MS = 30_000

/** The deadline that has passed, if one has. */
export function overdue(session: SessionRow, now: number): Due | null {
  const next = nextDeadline(session)
  return next !== null && next.at <= now ? next : null
}

export function comeDue(session: SessionRow, now: number): Step {
  const due = overdue(session, now)
  if (due === null) return realigned(session)
  switch (due.kind) {
    case 'drained':
      return becomeIdle(session, now)
    case 'idle':
      return session.onIdle === 'suspend' ? suspend(session, 'idle', now) : beginClosing(session, { reason: 'expire', detail: 'idle' }, now)
    case 'lease':
      return beginClosing(session, { reason: 'expire', detail: 'lease', drainMs: DRAIN_MS }, now)
    case 'lifetime':
    case 'retention':
      return beginClosing(session, { reason: 'expire', detail: due.kind }, now)
    case 'provision':
      return session.pendingReason === 'create'
        ? beginClosing(session, { reason: 'fail', detail: 'provision_timeout' }, now)
        : step(
            session,
            { state: 'suspended', pendingReason: null, sandboxId: null, suspendedAt: session.suspendedAt ?? now },
            { type: 'session.suspended', reason: 'provision_timeout' },
          )
    // Its running work has had its time: what is left is the clean-up.
    case 'drain':
      return step(session, { drainUntil: null })
    // The clean-up itself decides about these two.
    case 'cleanup':
    case 'record':
      return unchanged(session)
  }
}

/** A stored deadline that is earlier than the real one would be found by every sweep. */
function realigned(session: SessionRow): Step {
  const aligned = step(session, {})
  return aligned.session.deadlineAt === session.deadlineAt ? unchanged(session) : aligned
}
