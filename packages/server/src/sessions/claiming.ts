/**
 * Whose session it is: this server's, another's, or free to be taken because its server keeps its promise no longer.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Taking over is one step of the session itself, so of two servers that try at once one wins and the other learns so.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Store } from '../store/store.ts'
import { abandonedSessions } from '../store/tables/sessions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { SYSTEM } from './caller.ts'
import type { Changes } from './change.ts'
import { takeOver } from './lifecycle/compute.ts'
import { unchanged } from './lifecycle/step.ts'
import { withLostExecutions } from './losing.ts'
import type { ServerLease } from './server-lease.ts'

const AT_ONCE = 50

export interface Claiming {
  /** The session as this server's own. Throws `session_elsewhere` while another server hosts it. */
  claim(session: SessionRow): Promise<SessionRow>
  /** Takes up what is due and belongs to servers that are gone: nobody else would move it on. */
  adopt(): Promise<void>
}

export interface ClaimingNeeds {
  readonly store: Store
  readonly changes: Changes
  readonly lease: ServerLease
  readonly clock: () => number
  readonly log: Log
}

export function createClaiming({ store, changes, lease, clock, log }: ClaimingNeeds): Claiming {
  async function claim(session: SessionRow): Promise<SessionRow> {
    if ((await lease.claimOn(session)) === 'mine') return session
    return changes.change(session, { actor: SYSTEM, action: 'session.take-over' }, async (row, transaction, now) => {
      if (row.serverId !== session.serverId) return unchanged(row)
      return withLostExecutions(takeOver(row, lease.serverId, now), row, transaction, now)
    })
  }
  return {
    claim,
    async adopt() {
      for (const session of await store.read((sql) => abandonedSessions(sql, lease.serverId, lease.deadBefore(), clock(), AT_ONCE))) {
        try {
          await claim(session)
          log.warn('session-taken-over', { session: session.id, from: session.serverId })
        } catch (error) {
          // Its server is back, or another one was quicker.
          if (!isHoldfastError(error)) throw error
          log.info('session-not-taken-over', { session: session.id, error: errorText(error) })
        }
      }
    },
  }
}
