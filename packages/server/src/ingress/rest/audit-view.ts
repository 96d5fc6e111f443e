/**
 * A stored audit record → what an auditor reads, field by field.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { AuditRecordView } from '@holdfast/protocol'
import { z } from 'zod'
import type { AuditRow } from '../../store/tables/audit.ts'
import { moment, momentOrNull } from './moment.ts'

const State = z.object({
  state: z.string().optional(),
  version: z.int().optional(),
  expiresAt: z.int().nullable().optional(),
  owner: z.string().optional(),
})

const StoredRecord = z.object({
  action: z.string(),
  actor: z.object({ type: z.enum(['user', 'service', 'system']), subject: z.string(), via: z.string().nullable() }),
  onBehalfOf: z.string().optional(),
  resource: z.object({ type: z.string(), id: z.string(), owner: z.string().optional() }),
  sessionId: z.string().optional(),
  sandboxId: z.string().optional(),
  incarnation: z.int().optional(),
  executionId: z.string().optional(),
  decision: z.enum(['allow', 'deny']),
  outcome: z.enum(['success', 'failure', 'noop']),
  errorCode: z.string().optional(),
  before: State.optional(),
  after: State.optional(),
  credentials: z.array(z.string()).optional(),
  cleanup: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
  requestId: z.string().optional(),
  anchors: z.object({ chain: z.string(), seq: z.int(), hash: z.string() }).optional(),
})

export function auditView(row: AuditRow): AuditRecordView {
  const { at, chain, seq, previous, hash } = row
  const { onBehalfOf, sessionId, sandboxId, executionId, errorCode, requestId, before, after, ...same } = parse(row)
  return {
    ...{ at: moment(at), chain, seq, previous, hash },
    ...same,
    on_behalf_of: onBehalfOf,
    session_id: sessionId,
    sandbox_id: sandboxId,
    execution_id: executionId,
    error_code: errorCode,
    request_id: requestId,
    before: before === undefined ? undefined : stateView(before),
    after: after === undefined ? undefined : stateView(after),
  }
}

function stateView({ expiresAt, ...same }: z.output<typeof State>) {
  return { ...same, expires_at: expiresAt === undefined ? undefined : momentOrNull(expiresAt) }
}

function parse({ chain, seq, body }: AuditRow): z.output<typeof StoredRecord> {
  try {
    return StoredRecord.parse(JSON.parse(body))
  } catch (cause) {
    throw new HoldfastError('store_corrupt', `the audit record ${seq} of ${chain} cannot be read`, {}, { cause })
  }
}
