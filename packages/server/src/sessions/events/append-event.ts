/**
 * Writes one event in the transaction of the change it tells of: both are there, or neither.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * `seq` is a column of the session's row, which the caller raises by one in the same transaction: so it has no gaps. The body is for
 * users and leaves the server; nothing secret and no command text may go into it.
 */
import type { EventType, SessionState } from '@holdfast/protocol'
import type { Transaction } from '../../store/store.ts'
import { insertEvent } from '../../store/tables/events.ts'
import type { Actor } from '../caller.ts'
import type { EventListeners } from './event-listeners.ts'

/** Epoch milliseconds, `null` where there is no such deadline. */
export interface EventDeadlines {
  readonly idleAt: number | null
  readonly leaseAt: number | null
  readonly lifetimeAt: number | null
  readonly expiresAt: number | null
}

export type EventData = { readonly [name: string]: EventDatum }
export type EventDatum = string | number | boolean | null | readonly EventDatum[] | EventData

export interface EventBody {
  readonly from: SessionState | null
  readonly to: SessionState | null
  readonly reason: string | null
  readonly actor: Actor
  readonly sandboxId: string | null
  readonly incarnation: number
  /** The session's row version after the change. */
  readonly version: number
  readonly deadlines: EventDeadlines
  readonly data: EventData
}

export interface NewEvent {
  readonly tenantId: string
  readonly sessionId: string
  readonly seq: number
  readonly type: EventType
  readonly at: number
  readonly body: EventBody
}

/** One INSERT; wakes who listens to the session or its tenant once it is committed. */
export async function appendEvent(transaction: Transaction, event: NewEvent, listeners: EventListeners): Promise<void> {
  const { tenantId, sessionId } = event
  await insertEvent(transaction, { ...event, body: JSON.stringify(event.body) })
  transaction.afterCommit(() => listeners.wake(tenantId, sessionId))
}
