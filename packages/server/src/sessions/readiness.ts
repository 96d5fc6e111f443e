/**
 * A session with a sandbox that answers: resumed, made anew, attached again or checked, as its row and the facts demand.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { Store } from '../store/store.ts'
import { findSandbox } from '../store/tables/sandboxes.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { Actor } from './caller.ts'
import type { Changes } from './change.ts'
import { noSuchSession } from './change.ts'
import type { Claiming } from './claiming.ts'
import type { Fleet } from './fleet.ts'
import { resume } from './lifecycle/compute.ts'
import { checkIncarnation, checkLive, checkNotHeld } from './lifecycle/refusals.ts'
import type { LoseSandbox } from './losing.ts'
import { packRoomOf } from './packing.ts'
import type { PackRules } from './packing.ts'
import { placeSession } from './placement.ts'
import type { Placement } from './placement.ts'
import type { Places } from './places.ts'
import type { Provisioning } from './provisioning.ts'
import type { Quotas } from './quotas.ts'
import { backendKind } from './reaper.ts'
import type { SessionReads } from './session-reads.ts'
import { unlessAborted } from './waiting.ts'

/** How often a session may turn out not to be ready after all before its caller is told to come again. */
const MAX_TURNS = 8
const NEVER = new AbortController().signal

export interface Ready {
  readonly session: SessionRow
  readonly live: LiveSandbox
}

export interface Readiness {
  /** Throws `session_closed`, `session_held`, `incarnation_changed`, `session_elsewhere`, or what keeps its sandbox from being made. */
  ensure(session: SessionRow, actor: Actor, expectedIncarnation: number | undefined, signal: AbortSignal): Promise<Ready>
  /** Asks for a sandbox if it has none. The row is pending, or served. */
  resume(session: SessionRow, actor: Actor): Promise<SessionRow>
  /** The sandbox that serves it now, if one does; makes none. Throws `session_elsewhere`, or what keeps the sandbox from answering. */
  reach(session: SessionRow): Promise<LiveSandbox | null>
}

export interface ReadinessNeeds {
  readonly store: Store
  readonly reads: SessionReads
  readonly changes: Changes
  readonly fleet: Fleet
  readonly provisioning: Provisioning
  readonly claiming: Claiming
  readonly lose: LoseSandbox
  readonly quotas: Quotas
  readonly placement: Placement
  readonly places: Places
  readonly packing: PackRules
  readonly clock: () => number
}

export function createReadiness(needs: ReadinessNeeds): Readiness {
  const { store, reads, changes, fleet, provisioning, claiming, lose, quotas, placement, places, packing, clock } = needs

  async function resumeSession(session: SessionRow, actor: Actor, signal: AbortSignal): Promise<SessionRow> {
    const claimed = await claiming.claim(session)
    return places.take(session.tenantId, signal, () => resumeClaimed(claimed, actor))
  }

  function resumeClaimed(claimed: SessionRow, actor: Actor): Promise<SessionRow> {
    return changes.change(claimed, { actor, action: 'session.resume' }, async (row, transaction, now) => {
      if (row.state !== 'suspended') return resume(row, { sandboxId: '', serverId: placement.serverId }, now)
      checkNotHeld(row)
      await quotas.check(transaction, { tenantId: row.tenantId, owner: row.owner, adds: 'compute', askedBy: actor.subject })
      const place = await placeSession(
        transaction,
        placement,
        { tenantId: row.tenantId, sessionId: row.id, pack: packRoomOf(row, packing) },
        now,
      )
      return resume(row, place, now)
    })
  }

  /** The open connection, or a new one; `null` when the sandbox is gone. */
  async function dial(sandboxId: string): Promise<LiveSandbox | null> {
    const held = fleet.get(sandboxId)
    if (held !== undefined) return (await held.check(clock())) ? held : null
    const row = await store.read((sql) => findSandbox(sql, sandboxId))
    if (row === null) return null
    try {
      const live = await fleet.attach({ id: sandboxId, backend: backendKind(row.backend) })
      return live.bootId === row.bootId ? live : null
    } catch (error) {
      if (isHoldfastError(error, 'sandbox_gone')) return null
      throw error
    }
  }

  async function reach({ state, sandboxId }: SessionRow): Promise<LiveSandbox | null> {
    if (sandboxId === null || (state !== 'idle' && state !== 'active')) return null
    const live = await dial(sandboxId)
    if (live === null) await lose(sandboxId)
    return live
  }

  return {
    resume: (session, actor) => resumeSession(session, actor, NEVER),
    reach: async (session) => reach(await claiming.claim(session)),
    async ensure(first, actor, expectedIncarnation, signal) {
      let session = first
      for (let turn = 0; turn < MAX_TURNS; turn += 1) {
        checkLive(session)
        checkNotHeld(session)
        checkIncarnation(session, expectedIncarnation)
        session = await claiming.claim(session)
        if (session.state === 'suspended') session = await resumeSession(session, actor, signal)
        if (session.state === 'pending') session = await unlessAborted(provisioning.ensure(session), signal)
        const live = await unlessAborted(reach(session), signal)
        if (live !== null) return { session, live }
        const again = await reads.hosted(session)
        if (again === null) throw noSuchSession()
        session = again
      }
      throw new HoldfastError('session_unavailable', 'the session’s sandbox does not stay up', { state: session.state })
    },
  }
}
