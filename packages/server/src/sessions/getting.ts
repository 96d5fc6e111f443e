/**
 * Get or create: one open session per key, for one owner, whoever asks first.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A unique index decides races, in this process and between servers. An open session is given only if it is what the caller
 * asks for; otherwise the refusal names the fields that differ.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { DeadlineCeilings, SandboxWish } from '@holdfast/protocol'
import { randomId } from '../home/random-id.ts'
import type { Store } from '../store/store.ts'
import { findOpenSession } from '../store/tables/sessions.ts'
import type { CompleteWish, SessionRow } from '../store/tables/sessions.ts'
import type { Caller } from './caller.ts'
import type { Changes } from './change.ts'
import type { Claiming } from './claiming.ts'
import { checkCompatible } from './compatible.ts'
import type { EventListeners } from './events/event-listeners.ts'
import { createSession } from './lifecycle/creation.ts'
import type { SessionTimes } from './lifecycle/creation.ts'
import { isClosed } from './lifecycle/state.ts'
import { joinPack, packRoomOf } from './packing.ts'
import type { PackRules } from './packing.ts'
import { placeSession } from './placement.ts'
import type { Placement } from './placement.ts'
import type { Places } from './places.ts'
import type { Quotas } from './quotas.ts'
import type { SessionReads } from './session-reads.ts'
import { untilSession } from './waiting.ts'

export interface SessionRequest {
  /** What policy made of the caller's scope or key. */
  readonly key: {
    readonly scope: string | null
    readonly key: string
    readonly keyHash: string
    readonly idleSeconds?: number | undefined
    /** No session is made with this key. */
    readonly hasIdForm?: boolean
  }
  /** Another than the caller needs the right to create for others. */
  readonly owner?: string | undefined
  readonly ownerGroup?: string | null | undefined
  readonly wish: SandboxWish
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** A packing profile; without one the session has a sandbox of its own. */
  readonly pack?: string | undefined
  readonly times?: Partial<SessionTimes> | undefined
  readonly workspaceOnClose?: SessionRow['workspaceOnClose'] | undefined
}

/** Where a wish is to come true. */
export interface WishPlace {
  readonly tenantId: string
  readonly owner: string
  /** In a sandbox that other sessions may share. */
  readonly isPacked: boolean
}

export interface Got {
  readonly session: SessionRow
  readonly isNew: boolean
}

export type GetOrCreate = (caller: Caller, request: SessionRequest, signal: AbortSignal) => Promise<Got>

export interface GettingNeeds {
  readonly store: Store
  readonly reads: SessionReads
  readonly changes: Changes
  readonly claiming: Claiming
  readonly listeners: EventListeners
  readonly quotas: Quotas
  readonly placement: Placement
  readonly places: Places
  readonly packing: PackRules
  readonly times: SessionTimes & { readonly isIdleFixed: boolean }
  /** Every field of the wish, with today's defaults. */
  completeWish(wish: SandboxWish, place: WishPlace): Promise<CompleteWish>
  /** Throws for what policy or the backend would refuse, before anything is written. */
  checkWish(wish: CompleteWish, place: WishPlace): Promise<void>
}

export function createGetting(needs: GettingNeeds): GetOrCreate {
  const { store, reads, changes, claiming, listeners, quotas, placement, places, packing, completeWish, checkWish } = needs
  const { isIdleFixed, ...times } = needs.times

  async function create(caller: Caller, request: SessionRequest): Promise<SessionRow | null> {
    const { tenantId } = caller.visibility
    const { key, scope, keyHash, idleSeconds } = request.key
    const owner = request.owner ?? caller.owner
    const ownerGroup = request.ownerGroup ?? null
    const place = { tenantId, owner, isPacked: request.pack !== undefined }
    const wish = await completeWish(request.wish, place)
    await checkWish(wish, place)
    const id = randomId('ses')
    return changes.create({ actor: caller.actor, action: 'session.create' }, async (transaction, now) => {
      const tenant = await quotas.check(transaction, { tenantId, owner, adds: 'both', askedBy: caller.visibility.owner })
      const pack =
        request.pack === undefined
          ? null
          : await joinPack(transaction, tenant.policy, { profile: request.pack, tenantId, owner, ownerGroup, wish })
      const room = packRoomOf({ packKey: pack?.key ?? null }, packing)
      const home = await placeSession(transaction, placement, { tenantId, sessionId: id, pack: room }, now)
      const idle = isIdleFixed || idleSeconds === undefined ? {} : { idleMs: idleSeconds * 1000 }
      const wished = { ...times, ...idle, ...request.times }
      return createSession(
        {
          id,
          tenantId,
          owner,
          ownerGroup,
          key,
          keyHash,
          scope,
          labels: request.labels ?? {},
          metadata: request.metadata ?? {},
          createdBy: caller.actor.subject,
          wish,
          times: withinCeilings(wished, tenant.policy.ceilings),
          workspaceOnClose: request.workspaceOnClose ?? 'delete',
          pack,
          ...home,
        },
        now,
      )
    })
  }

  return async (caller, request, signal) => {
    const { tenantId } = caller.visibility
    const owner = request.owner ?? caller.owner
    if (!caller.mayCreate(owner, request.ownerGroup ?? null))
      throw new HoldfastError('forbidden', 'you may not create sessions for this owner', { owner })
    for (;;) {
      const find = () => store.read((sql) => findOpenSession(sql, tenantId, owner, request.key.keyHash))
      const known = await find()
      if (known === null) {
        if (request.key.hasIdForm === true) throw idAsKey(request.key.key)
        // After a wait another caller may have made the session; to make room for it again would cost a second session its place.
        const created = await places.take(tenantId, signal, async (hasWaited) =>
          hasWaited && (await find()) !== null ? null : create(caller, request),
        )
        if (created !== null) return { session: created, isNew: true }
      } else if (known.state === 'closing') {
        // Its key is free once its clean-up is over, which a server that is gone will never see to.
        await claiming.adopt()
        await untilSession(known, ({ state }) => isClosed(state), { reads, listeners, signal })
      } else {
        checkCompatible(request, known)
        return { session: known, isNew: false }
      }
    }
  }
}

/** The session of that id is over or was never there; a new one under its id as key would look like the old one without its files. */
function idAsKey(key: string): HoldfastError {
  const problem = 'takes the id of a session; a key must not have the form of an id'
  return new HoldfastError(
    'invalid_request',
    `no open session has the key '${key}', and no session is made with a key that has the form of a session id; send an id as session_id`,
    { key, problems: [{ field: 'session_id', problem }] },
  )
}

/** No deadline is later than the tenant allows; one that the tenant bounds cannot be left out. */
function withinCeilings(times: SessionTimes, ceilings: DeadlineCeilings): SessionTimes {
  const bound = (ms: number, seconds: number | undefined) => (seconds === undefined ? ms : Math.min(ms, seconds * 1000))
  const boundOrNull = (ms: number | null, seconds: number | undefined) =>
    seconds === undefined ? ms : Math.min(ms ?? Number.POSITIVE_INFINITY, seconds * 1000)
  return {
    ...times,
    idleMs: bound(times.idleMs, ceilings.idle_seconds),
    leaseMs: times.leaseMs === null ? null : bound(times.leaseMs, ceilings.lease_seconds),
    lifetimeMs: boundOrNull(times.lifetimeMs, ceilings.lifetime_seconds),
    retentionMs: bound(times.retentionMs, ceilings.retention_seconds),
  }
}
