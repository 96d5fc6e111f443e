/**
 * A place for one more sandbox: a free one, or one that an idle session gives up.
 *
 * When all places are taken, the tenant that is furthest above its share (all places, divided among the tenants that use this server)
 * suspends the session that has been idle longest; failing that, the newcomer's own tenant does. Why: docs/adr/0025-places.md
 *
 * Invariants: a session with work is never suspended. Newcomers take turns, and each looks for a free place before it suspends anything, so
 * never more sessions are suspended than there are newcomers. No transaction is open while somebody waits.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { Store } from '../store/store.ts'
import { sessionsWithCompute } from '../store/tables/sessions.ts'
import type { HostedSession, SessionRow } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import type { SessionObserver } from '../telemetry/observations.ts'
import type { Activity } from './activity.ts'
import { SYSTEM } from './caller.ts'
import type { Changes } from './change.ts'
import type { Fleet } from './fleet.ts'
import { suspend } from './lifecycle/compute.ts'
import { unchanged } from './lifecycle/step.ts'
import { isNoPlace, noPlace } from './placement.ts'
import type { Placement } from './placement.ts'
import type { Reaper } from './reaper.ts'
import type { SessionUses } from './session-uses.ts'
import { unlessAborted } from './waiting.ts'

/** A session must have been without work for so long. */
const IDLE_MS = 10_000
/** How long a newcomer waits for sessions that have no work but are not idle long enough. */
const PATIENCE_MS = IDLE_MS + 5_000
/** A guest that takes longer is not asked again for this newcomer. */
const ANSWER_MS = 2_000

export interface Places {
  /**
   * Runs `attempt`, which takes a place or throws what `placeSession` throws. Throws that too when no session can give up its place.
   * `hasWaited`: others had their turn since `take` was called, so what the caller knew then may no longer be true.
   */
  take<T>(tenantId: string, signal: AbortSignal, attempt: (hasWaited: boolean) => Promise<T>): Promise<T>
  /** Resolves when the sandboxes that gave up their places so far are destroyed. */
  vacated(): Promise<void>
  /** A place may be free: somebody who waits looks again. */
  follow(before: SessionRow | null, session: SessionRow): void
}

export interface PlacesNeeds {
  readonly store: Store
  readonly changes: Changes
  readonly fleet: Fleet
  readonly reaper: Reaper
  readonly uses: SessionUses
  readonly activity: Pick<Activity, 'notedAt'>
  /** Whether connections to ports of the session are open. */
  isConnected(sessionId: string): boolean
  readonly placement: Placement
  readonly whenFull: 'suspend' | 'refuse'
  readonly clock: () => number
  readonly log: Log
  readonly observer: Pick<SessionObserver, 'placeRefused'>
}

export function createPlaces(needs: PlacesNeeds): Places {
  const { store, changes, fleet, reaper, uses, activity, isConnected, placement, whenFull, clock, log, observer } = needs
  const { serverId, maxSandboxes } = placement
  /** Newcomers that found every place taken, the one whose turn it is included. */
  let newcomers = 0
  /** First attempts that began while nobody waited. */
  const underWay = new Set<Promise<unknown>>()
  let lastTurn: Promise<unknown> = Promise.resolve()
  const leaving = new Set<Promise<void>>()
  const sleepers = new Set<() => void>()
  /** Sessions with processes that nobody waits for, each with when it was last seen so. */
  const busyAt = new Map<string, number>()

  async function take<T>(tenantId: string, signal: AbortSignal, attempt: (hasWaited: boolean) => Promise<T>): Promise<T> {
    try {
      return await takeInTurn(tenantId, signal, attempt)
    } catch (error) {
      if (isNoPlace(error)) observer.placeRefused()
      throw error
    }
  }

  async function takeInTurn<T>(tenantId: string, signal: AbortSignal, attempt: (hasWaited: boolean) => Promise<T>): Promise<T> {
    // Whoever arrives while others wait joins them: a place that was made for one of those is not free.
    if (newcomers === 0) {
      const first = attempt(false)
      underWay.add(first)
      try {
        return await first
      } catch (error) {
        if (!isNoPlace(error) || whenFull === 'refuse') throw error
      } finally {
        underWay.delete(first)
      }
    }
    newcomers += 1
    const until = performance.now() + PATIENCE_MS
    try {
      for (;;) {
        const turn = await inTurn(() => takeNow(tenantId, signal, attempt))
        if (turn.isTaken) return turn.value
        const waitMs = Math.min(turn.soonMs ?? Number.POSITIVE_INFINITY, until - performance.now())
        if (turn.soonMs === null || waitMs <= 0)
          throw noPlace(maxSandboxes, ', and no session that could give one up is idle: each has work, is held, or had work just now')
        await sleep(waitMs, signal)
      }
    } finally {
      newcomers -= 1
    }
  }

  type Turn<T> = { readonly isTaken: true; readonly value: T } | { readonly isTaken: false; readonly soonMs: number | null }

  /** `soonMs`: how long until a session that has no work is idle long enough; `null`: there is none. */
  async function takeNow<T>(tenantId: string, signal: AbortSignal, attempt: (hasWaited: boolean) => Promise<T>): Promise<Turn<T>> {
    // They could take a place that is made here, and so have one more session suspended than is needed.
    await Promise.allSettled(underWay)
    for (;;) {
      if (signal.aborted) throw new HoldfastError('request_cancelled', 'the client disconnected before there was a place for a sandbox')
      try {
        return { isTaken: true, value: await attempt(true) }
      } catch (error) {
        if (!isNoPlace(error)) throw error
      }
      const { spare, soonMs } = await sparePlaces(tenantId)
      if (!(await suspendFirst(spare))) return { isTaken: false, soonMs }
    }
  }

  /** One after the other; a failure is for the one whose turn it was. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = lastTurn.then(work, work)
    lastTurn = turn.catch(() => undefined)
    return turn
  }

  /** Sessions that may give up their place, in the order in which they do. */
  async function sparePlaces(newcomer: string) {
    const hosted = await store.read((sql) => sessionsWithCompute(sql, serverId))
    const now = clock()
    for (const [id, at] of busyAt) if (at + IDLE_MS <= now) busyAt.delete(id)
    const idle = hosted.filter((session) => hasNoWork(session)).map((session) => ({ session, since: lastActivity(session) }))
    const order = tenantsInOrder(hosted, newcomer, maxSandboxes)
    const ranked = idle
      .filter(({ session: { tenantId } }) => order.has(tenantId))
      .toSorted((a, b) => (order.get(a.session.tenantId) ?? 0) - (order.get(b.session.tenantId) ?? 0) || a.since - b.since)
    const spare = ranked.filter(({ since }) => since + IDLE_MS <= now).map(({ session }) => session)
    const waits = ranked.map(({ since }) => since + IDLE_MS - now).filter((ms) => ms > 0)
    return { spare, soonMs: waits.length === 0 ? null : Math.min(...waits) }
  }

  function hasNoWork({ id, isReady, running, isHeld }: HostedSession): boolean {
    return isReady && running === 0 && !isHeld && !uses.isUsed(id) && !isConnected(id) && !busyAt.has(id)
  }

  function lastActivity({ id, activityAt }: Pick<SessionRow, 'id' | 'activityAt'>): number {
    return Math.max(activityAt, activity.notedAt(id) ?? 0)
  }

  /** `false`: each of them has work after all. */
  async function suspendFirst(spare: readonly HostedSession[]): Promise<boolean> {
    for (const session of spare) if ((await uses.unlessUsed(session.id, () => suspendIdle(session))) === true) return true
    return false
  }

  async function suspendIdle(spare: HostedSession): Promise<boolean> {
    const { id, sandboxId, packUid } = spare
    if (await hasProcesses(fleet.get(sandboxId), packUid)) {
      busyAt.set(id, clock())
      return false
    }
    let isSuspended = false
    await changes.change(spare, { actor: SYSTEM, action: 'session.suspend' }, (row, _transaction, now) => {
      const isIdle = row.sandboxId === sandboxId && row.running === 0 && row.heldAt === null && lastActivity(row) + IDLE_MS <= now
      isSuspended = isIdle && (row.state === 'idle' || row.state === 'active') && !isConnected(id)
      return isSuspended ? suspend(row, 'capacity', now) : unchanged(row)
    })
    if (!isSuspended) return false
    log.info('session-suspended-for-capacity', { session: id, sandbox: sandboxId, setting: 'sessions.max' })
    const gone = reaper.reap(sandboxId).finally(() => leaving.delete(gone))
    leaving.add(gone)
    return true
  }

  /** A guest that cannot say is believed to have some. */
  async function hasProcesses(live: LiveSandbox | undefined, packUid: number | null): Promise<boolean> {
    if (live === undefined) return true
    try {
      const signal = AbortSignal.timeout(ANSWER_MS)
      const { processes } = await live.connected(signal)
      const listed = await unlessAborted(processes.list(), signal)
      return listed.some(({ state, uid }) => state !== 'ended' && (packUid === null || uid === packUid))
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      log.warn('session-not-asked-for-processes', { sandbox: live.name, error: errorText(error) })
      return true
    }
  }

  async function sleep(ms: number, signal: AbortSignal): Promise<void> {
    const woken = Promise.withResolvers<void>()
    const timer = setTimeout(woken.resolve, ms)
    sleepers.add(woken.resolve)
    try {
      await unlessAborted(woken.promise, signal)
    } finally {
      clearTimeout(timer)
      sleepers.delete(woken.resolve)
    }
  }

  return {
    take,
    async vacated() {
      await Promise.all(leaving)
    },
    follow(before, session) {
      if (before?.serverId !== serverId || before.sandboxId === null || before.sandboxId === session.sandboxId) return
      const [first] = sleepers
      first?.()
    },
  }
}

/**
 * Which tenants give up places for a newcomer, and in which order: those above their share, the largest first; then the newcomer's own.
 * The newcomer counts as one of its tenant, so there is always one above its share when all places are taken.
 */
export function tenantsInOrder(
  hosted: readonly Pick<HostedSession, 'tenantId'>[],
  newcomer: string,
  places: number,
): ReadonlyMap<string, number> {
  const counts = new Map([[newcomer, 1]])
  for (const { tenantId } of hosted) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1)
  const share = places / counts.size
  const above = [...counts].filter(([, count]) => count > share)
  const largest = above.toSorted(([a, most], [b, least]) => least - most || Number(b === newcomer) - Number(a === newcomer))
  return new Map([...new Set([...largest.map(([tenantId]) => tenantId), newcomer])].map((tenantId, index) => [tenantId, index]))
}
