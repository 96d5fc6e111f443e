/**
 * Events on the wire: what happened to a session, in the order it happened.
 *
 * The same shape arrives over a stream, in a list and in the body of a webhook. What is never in it: command text,
 * environment, file contents, keys.
 */
import { z } from 'zod'

export const EVENT_TYPES = [
  'session.created',
  'session.active',
  'session.idle',
  'session.suspended',
  'session.resuming',
  'session.resumed',
  'session.rebinding',
  'session.rebound',
  'session.refreshed',
  'session.updated',
  'session.transferred',
  'session.transfer_requested',
  'session.transfer_rejected',
  'session.held',
  'session.unheld',
  'session.closing',
  'session.released',
  'session.cancelled',
  'session.expired',
  'session.failed',
  'execution.started',
  'execution.ended',
  'process.started',
  'process.ended',
  'workspace.over_quota',
  'home.reset',
  'credential.created',
  'credential.replaced',
  'credential.removing',
  'credential.removed',
] as const
export const EventType = z.enum(EVENT_TYPES)
export type EventType = z.output<typeof EventType>

const Moment = z.iso.datetime()

export const SessionEvent = z.object({
  /** Unique. Delivery is at least once, so that a reader drops an id it has seen; also the cursor of a tenant's events. */
  id: z.string(),
  type: EventType,
  time: Moment,
  tenant_id: z.string(),
  session_id: z.string(),
  /** Counts the events of this session from 1, without gaps; also the cursor of the session's events. */
  seq: z.int(),
  /** The session's row version after the change. */
  version: z.int(),
  incarnation: z.int(),
  sandbox_id: z.string().nullable(),
  /** The state before and after; both `null` where the state did not change. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  reason: z.string().nullable(),
  actor: z.object({ type: z.enum(['user', 'service', 'system']), subject: z.string(), via: z.string().nullable() }),
  deadlines: z.object({
    idle_at: Moment.nullable(),
    lease_at: Moment.nullable(),
    lifetime_at: Moment.nullable(),
    expires_at: Moment.nullable(),
  }),
  /** What belongs to this type only. */
  data: z.record(z.string(), z.json()),
})
export type SessionEvent = z.output<typeof SessionEvent>
