/**
 * When a session is due, and for what. All from its own row: nothing is remembered anywhere else.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * `null` means no deadline; there is no date that stands for never.
 */
import type { Deadline } from '@holdfast/protocol'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { isClosed } from './state.ts'

/** How long a sandbox may take to come up before its session gives up. */
export const PROVISION_MS = 300_000
/** Between the end of the last work and `idle`, so that a row of commands is one activity. */
export const DRAINED_MS = 2_000
/** After this a clean-up that cannot finish is closed as unverified. */
export const CLEANUP_MS = 60_000

export interface Due {
  readonly at: number
  readonly kind: Deadline
}

/** The earliest thing that will happen to it by time alone. */
export function nextDeadline(session: SessionRow): Due | null {
  return earliest(candidates(session))
}

export interface Expiry {
  readonly at: number | null
  readonly reason: 'idle' | 'lease' | 'lifetime' | 'retention' | null
}

/** When it will end if nothing happens: an idle one that is suspended first ends with its retention. */
export function expiryOf(session: SessionRow): Expiry {
  const { state, leaseAt, lifetimeAt, activityAt, idleMs, retentionMs, suspendedAt, running, heldAt, onIdle } = session
  if (state === 'closing' || isClosed(state)) return { at: null, reason: null }
  const mayIdle = heldAt === null && running === 0
  const idleEnd = onIdle === 'suspend' ? { at: activityAt + idleMs + retentionMs, kind: 'retention' as const } : idle(session)
  const first = earliest([
    lifetimeAt === null ? null : { at: lifetimeAt, kind: 'lifetime' },
    leaseAt === null ? null : { at: leaseAt, kind: 'lease' },
    state === 'suspended'
      ? mayIdle
        ? { at: (suspendedAt ?? activityAt) + retentionMs, kind: 'retention' }
        : null
      : mayIdle
        ? idleEnd
        : null,
  ])
  return first === null ? { at: null, reason: null } : { at: first.at, reason: reasonOf(first.kind) }
}

function candidates(session: SessionRow): readonly (Due | null)[] {
  const { state, activityAt, suspendedAt, closingAt, drainUntil, closedAt, running, heldAt, retentionMs, recordMs } = session
  // A lease is never longer than the lifetime; where both end, it is the lifetime that does not wait for work.
  const ends = [
    session.lifetimeAt === null ? null : ({ at: session.lifetimeAt, kind: 'lifetime' } as const),
    session.leaseAt === null ? null : ({ at: session.leaseAt, kind: 'lease' } as const),
  ]
  switch (state) {
    case 'pending':
      return [{ at: activityAt + PROVISION_MS, kind: 'provision' }, ...ends]
    case 'idle':
      return [heldAt === null ? idle(session) : null, ...ends]
    case 'active':
      return [running === 0 ? { at: activityAt + DRAINED_MS, kind: 'drained' } : null, ...ends]
    case 'suspended':
      return [heldAt === null ? { at: (suspendedAt ?? activityAt) + retentionMs, kind: 'retention' } : null, ...ends]
    case 'closing': {
      const begun = Math.max(closingAt ?? activityAt, drainUntil ?? 0)
      const isDraining = running > 0 && drainUntil !== null
      return [isDraining ? { at: drainUntil, kind: 'drain' } : { at: begun + CLEANUP_MS, kind: 'cleanup' }]
    }
    case 'released':
    case 'cancelled':
    case 'expired':
    case 'failed':
      return [heldAt === null ? { at: (closedAt ?? activityAt) + recordMs, kind: 'record' } : null]
  }
}

function idle({ activityAt, idleMs }: SessionRow): Due {
  return { at: activityAt + idleMs, kind: 'idle' }
}

function earliest(dues: readonly (Due | null)[]): Due | null {
  return dues.reduce((first, due) => (due !== null && (first === null || due.at < first.at) ? due : first), null)
}

function reasonOf(kind: Deadline): Expiry['reason'] {
  return kind === 'idle' || kind === 'lease' || kind === 'lifetime' || kind === 'retention' ? kind : null
}
