/**
 * What owners and operators do to a session while it lives: refresh, hold, transfer, label.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { checkLive, checkVersion } from './refusals.ts'
import { step, unchanged } from './step.ts'
import type { Step } from './step.ts'

export interface Refresh {
  /** A new length of the lease; without it the present one counts from now. */
  readonly leaseMs?: number | undefined
  readonly allowShorten?: boolean | undefined
}

/** Counts as activity, and moves the lease; never to an earlier time unless that is allowed, never past the lifetime. */
export function refresh(session: SessionRow, { leaseMs, allowShorten = false }: Refresh, now: number): Step {
  checkLive(session)
  const length = leaseMs ?? session.leaseMs
  const activityAt = session.state === 'idle' || session.state === 'active' ? Math.max(session.activityAt, now) : session.activityAt
  if (length === null) return step(session, { activityAt }, { type: 'session.refreshed' })
  const wished = allowShorten ? now + length : Math.max(session.leaseAt ?? 0, now + length)
  const isCapped = session.lifetimeAt !== null && wished > session.lifetimeAt
  const leaseAt = isCapped && session.lifetimeAt !== null ? session.lifetimeAt : wished
  return step(session, { activityAt, leaseMs: length, leaseAt }, { type: 'session.refreshed', data: { capped: isCapped } })
}

/** No work and no resume until it is let go; it does not idle out meanwhile. */
export function hold(session: SessionRow, by: string, reason: string | null, now: number): Step {
  if (session.heldAt !== null) return unchanged(session)
  return step(session, { heldAt: now, heldBy: by, heldReason: reason }, { type: 'session.held' })
}

/** Its idle time starts anew: nobody could use it meanwhile. */
export function unhold(session: SessionRow, now: number): Step {
  if (session.heldAt === null) return unchanged(session)
  const restart = session.state === 'suspended' ? { suspendedAt: now } : session.state === 'idle' ? { activityAt: now } : {}
  return step(session, { heldAt: null, heldBy: null, heldReason: null, ...restart }, { type: 'session.unheld' })
}

export interface Transfer {
  readonly owner: string
  readonly ownerGroup: string | null
  readonly expectedVersion: number
}

/** Gives it to somebody else of the same tenant. */
export function transfer(session: SessionRow, { owner, ownerGroup, expectedVersion }: Transfer): Step {
  checkLive(session)
  checkVersion(session, expectedVersion)
  if (owner === session.owner && ownerGroup === session.ownerGroup) return unchanged(session)
  if (session.packKey !== null)
    throw new HoldfastError('invalid_state', 'a packed session shares its sandbox with others of its owner and cannot be given away')
  return step(session, { owner, ownerGroup }, { type: 'session.transferred', data: { from_owner: session.owner, to_owner: owner } })
}

export interface Labels {
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly expectedVersion?: number | undefined
}

export function relabel(session: SessionRow, { labels, metadata, expectedVersion }: Labels): Step {
  checkLive(session)
  checkVersion(session, expectedVersion)
  return step(session, { labels: labels ?? session.labels, metadata: metadata ?? session.metadata }, { type: 'session.updated' })
}
