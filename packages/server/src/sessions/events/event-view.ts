/**
 * A stored event → the event that users read.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Field by field: what is stored beyond the wire's shape does not leave the server.
 */
import { EventType, HoldfastError, SESSION_STATES } from '@holdfast/protocol'
import type { SessionEvent } from '@holdfast/protocol'
import { z } from 'zod'
import type { EventRow } from '../../store/tables/events.ts'

const Time = z.int().nullable()
const State = z.enum(SESSION_STATES).nullable()

const StoredBody = z.object({
  from: State,
  to: State,
  reason: z.string().nullable(),
  actor: z.object({ type: z.enum(['user', 'service', 'system']), subject: z.string(), via: z.string().nullable() }),
  sandboxId: z.string().nullable(),
  incarnation: z.int(),
  version: z.int(),
  deadlines: z.object({ idleAt: Time, leaseAt: Time, lifetimeAt: Time, expiresAt: Time }),
  data: z.record(z.string(), z.json()),
})

export function viewEvent(row: EventRow): SessionEvent {
  const { type, body } = parse(row)
  const { deadlines } = body
  return {
    id: row.id,
    type,
    time: new Date(row.at).toISOString(),
    tenant_id: row.tenantId,
    session_id: row.sessionId,
    seq: row.seq,
    version: body.version,
    incarnation: body.incarnation,
    sandbox_id: body.sandboxId,
    from: body.from,
    to: body.to,
    reason: body.reason,
    actor: body.actor,
    deadlines: {
      idle_at: moment(deadlines.idleAt),
      lease_at: moment(deadlines.leaseAt),
      lifetime_at: moment(deadlines.lifetimeAt),
      expires_at: moment(deadlines.expiresAt),
    },
    data: body.data,
  }
}

function parse(row: EventRow): { readonly type: EventType; readonly body: z.output<typeof StoredBody> } {
  try {
    return { type: EventType.parse(row.type), body: StoredBody.parse(JSON.parse(row.body)) }
  } catch (cause) {
    throw new HoldfastError('store_corrupt', `the event ${row.id} cannot be read`, {}, { cause })
  }
}

function moment(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
