/**
 * The model's get-or-create: one open session for each key of an owner, within what the tenant allows.
 */
import type { Action } from './actions.ts'
import { at, becomeReady, close, moveIn, placesFor } from './model-life.ts'
import { refuse } from './possibility.ts'
import type { Answer, Possibility } from './possibility.ts'
import { MAX_SANDBOXES, OWNERS, SERVER_PIDS, TENANTS, TERMS, TIMES, WISHES } from './rules.ts'
import type { Owner, WishName } from './rules.ts'
import { countsFor, isClosed, isServed } from './world.ts'
import type { ModelSession, World } from './world.ts'

type Create = Extract<Action, { readonly type: 'create' }>

export function createPossibilities(world: World, action: Create): readonly Possibility[] {
  const { owner, key } = action
  const known = world.sessions.findIndex((session) => session.owner === owner && session.key === key && !isClosed(session))
  if (known < 0)
    return refuse(world, [...packRefusals(action), ...quotaRefusals(world, owner, 'both')], () => 'new').flatMap((possible) =>
      made(possible, action),
    )
  const session = at(world, known)
  // Its key is free when it is over; whoever does not wait for that is told so.
  if (session.state === 'closing') return [{ world, answer: 'request_cancelled' }]
  const fields = differing(session, action)
  return [{ world, answer: fields.length === 0 ? `known ${known}` : `session_incompatible ${fields.join(' ')}` }]
}

function made(possible: Possibility, action: Create): readonly Possibility[] {
  if (possible.answer !== 'new') return [possible]
  const packKey = packKeyOf(action)
  return placesFor(possible.world, packKey).map((place) => {
    const world = structuredClone(possible.world)
    world.sessions.push(sessionOf(action, world.now))
    const index = world.sessions.length - 1
    const session = at(world, index)
    if (world.trouble.create && place === 'new') {
      if (!session.isPacked) session.files = []
      close(world, session, { reason: 'fail', detail: 'backend_unavailable', drainMs: 0 })
      // Whatever there was of one is gone.
      if (session.cleanup !== null) session.cleanup = { ...session.cleanup, sandbox: 'destroyed' }
    } else {
      moveIn(world, index, place, packKey)
      becomeReady(world, index)
    }
    return { world, answer: `new ${index}` }
  })
}

function sessionOf({ owner, key, wish, terms, isPacked, onClose }: Create, now: number): ModelSession {
  const asked: { readonly idleMs?: number; readonly leaseMs?: number; readonly lifetimeMs?: number; readonly onIdle?: 'release' } =
    TERMS[terms]
  const ceilings: { readonly idleMs?: number; readonly leaseMs?: number; readonly lifetimeMs?: number; readonly retentionMs?: number } =
    TENANTS[OWNERS[owner]].ceilings
  const leaseMs = asked.leaseMs === undefined ? null : least(asked.leaseMs, ceilings.leaseMs)
  const lifetimeMs = least(asked.lifetimeMs, ceilings.lifetimeMs)
  return {
    ...{ key, wish, isPacked, owner, state: 'idle', incarnation: 1, suspendReason: null, closeReason: null, closeDetail: null },
    ...{ isHeld: false, notice: null, workspace: 'intact', files: null, label: null, executions: [], box: null },
    onIdle: asked.onIdle ?? 'suspend',
    onClose: onClose === 'unsaid' ? 'delete' : onClose,
    idleMs: least(asked.idleMs ?? TIMES.idleMs, ceilings.idleMs) ?? TIMES.idleMs,
    leaseMs,
    leaseAt: leaseMs === null ? null : now + leaseMs,
    lifetimeAt: lifetimeMs === null ? null : now + lifetimeMs,
    retentionMs: least(TIMES.retentionMs, ceilings.retentionMs) ?? TIMES.retentionMs,
    ...{ activityAt: now, suspendedAt: now, closingAt: now, drainUntil: null, closedAt: now, cleanup: null },
    ...{ isPurged: false, isTouched: true },
  }
}

function least(wished: number | undefined, ceiling: number | undefined): number | null {
  const given = [wished, ceiling].filter((each) => each !== undefined)
  return given.length === 0 ? null : Math.min(...given)
}

/** Only what is asked for is compared. */
function differing(session: ModelSession, action: Create): readonly string[] {
  const asked = shapeOf(action.wish, null)
  const has = shapeOf(session.wish, SERVER_PIDS)
  const fields: string[] = []
  if (asked.network !== null && asked.network !== (has.network ?? 'off')) fields.push('network')
  if (asked.pids !== null && asked.pids !== has.pids) fields.push('limits.pids')
  if (action.isPacked && !session.isPacked) fields.push('pack')
  return fields
}

function shapeOf(name: WishName, pids: number | null): { readonly pids: number | null; readonly network: string | null } {
  const wish: { readonly limits?: { readonly pids: number }; readonly network?: string } = WISHES[name]
  return { pids: wish.limits?.pids ?? pids, network: wish.network ?? null }
}

/** Only one tenant lets its sessions share sandboxes. */
function packRefusals({ isPacked, owner }: Create): readonly Answer[] {
  return isPacked && OWNERS[owner] === 'other' ? ['forbidden'] : []
}

export function packKeyOf({ isPacked, owner, wish }: Pick<ModelSession, 'isPacked' | 'owner' | 'wish'>): string | null {
  return isPacked ? `${owner} ${wish}` : null
}

/** Each limit that is reached, by its name. */
export function quotaRefusals(world: World, owner: Owner, adds: 'both' | 'compute'): readonly Answer[] {
  const limits = TENANTS[OWNERS[owner]]
  const counts = countsFor(world, owner)
  const reasons: Answer[] = []
  const check = (used: number, limit: number | null, name: string) => {
    if (limit !== null && used >= limit) reasons.push(`quota_exceeded ${name}`)
  }
  if (adds === 'both') check(counts.open, limits.open, 'open_sessions')
  if (adds === 'both') check(counts.openOfOwner, limits.openPerOwner, 'open_sessions_per_owner')
  check(counts.compute, limits.compute, 'compute_sessions')
  check(counts.computeOfOwner, limits.computePerOwner, 'compute_sessions_per_owner')
  if (world.sessions.filter((session) => isServed(session)).length >= MAX_SANDBOXES) reasons.push('capacity_exhausted')
  return reasons
}
