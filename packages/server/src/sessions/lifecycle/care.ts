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

export interface NewOwner {
  readonly owner: string
  readonly ownerGroup: string | null
}

export interface Transfer extends NewOwner {
  readonly expectedVersion: number
}

/** Gives it to somebody else of the same tenant; its files stay. */
export function transfer(session: SessionRow, wished: Transfer): Step {
  return checkTransfer(session, wished) ? give(session, wished) : unchanged(session)
}

/** The same once its owner accepts. A later request replaces an earlier one. */
export function requestTransfer(session: SessionRow, wished: Transfer, by: string, now: number): Step {
  if (!checkTransfer(session, wished)) return unchanged(session)
  const { owner, ownerGroup } = wished
  const pendingTransfer = { owner, owner_group: ownerGroup, by, at: now }
  return step(session, { pendingTransfer }, { type: 'session.transfer_requested', data: newOwner(session, wished) })
}

/** The owner names what is accepted, so that a request that was replaced meanwhile is not accepted by mistake. */
export function acceptTransfer(session: SessionRow, accepted: NewOwner): Step {
  checkLive(session)
  const { pendingTransfer } = session
  if (pendingTransfer?.owner !== accepted.owner || pendingTransfer.owner_group !== accepted.ownerGroup)
    throw new HoldfastError('invalid_state', `no transfer of this session to ${JSON.stringify(accepted.owner)} waits for consent`)
  return give(session, accepted)
}

export function rejectTransfer(session: SessionRow): Step {
  if (session.pendingTransfer === null) return unchanged(session)
  const { owner, owner_group: ownerGroup } = session.pendingTransfer
  return step(session, { pendingTransfer: null }, { type: 'session.transfer_rejected', data: newOwner(session, { owner, ownerGroup }) })
}

/** `false`: it is theirs already. */
function checkTransfer(session: SessionRow, { owner, ownerGroup, expectedVersion }: Transfer): boolean {
  checkLive(session)
  checkVersion(session, expectedVersion)
  if (owner === session.owner && ownerGroup === session.ownerGroup) return false
  if (session.packKey !== null)
    throw new HoldfastError('invalid_state', 'a packed session shares its sandbox with others of its owner and cannot be given away')
  return true
}

function give(session: SessionRow, { owner, ownerGroup }: NewOwner): Step {
  const data = newOwner(session, { owner, ownerGroup })
  return step(session, { owner, ownerGroup, pendingTransfer: null }, { type: 'session.transferred', data })
}

function newOwner({ owner: from }: SessionRow, { owner, ownerGroup }: NewOwner) {
  return { from_owner: from, to_owner: owner, ...(ownerGroup === null ? {} : { to_group: ownerGroup }) }
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
