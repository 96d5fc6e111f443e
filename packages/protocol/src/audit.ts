/**
 * The audit on the wire: who did what, and whether the records are still as they were written.
 */
import { z } from 'zod'
import { pageOf, PagingShape } from './paging.ts'

export const AuditQuery = z.strictObject({
  session: z
    .string()
    .max(64, { error: 'must be at most 64 characters' })
    .regex(/^\w*$/, { error: 'must be the id of a session' })
    .optional()
    .meta({ description: 'Only the records of this session.' }),
  ...PagingShape,
})

const AuditedState = z.object({
  state: z.string().optional(),
  version: z.int().optional(),
  expires_at: z.iso.datetime().nullable().optional(),
  owner: z.string().optional(),
})

export const AuditRecordView = z.object({
  at: z.iso.datetime(),
  /** Whose chain it is on: a session's or the tenant's. */
  chain: z.string(),
  seq: z.int(),
  previous: z.string(),
  hash: z.string(),
  action: z.string(),
  actor: z.object({ type: z.enum(['user', 'service', 'system']), subject: z.string(), via: z.string().nullable() }),
  on_behalf_of: z.string().optional(),
  resource: z.object({ type: z.string(), id: z.string(), owner: z.string().optional() }),
  session_id: z.string().optional(),
  sandbox_id: z.string().optional(),
  incarnation: z.int().optional(),
  execution_id: z.string().optional(),
  decision: z.enum(['allow', 'deny']),
  outcome: z.enum(['success', 'failure', 'noop']),
  error_code: z.string().optional(),
  before: AuditedState.optional(),
  after: AuditedState.optional(),
  /** Names of the session's credentials that were created, replaced or removed. */
  credentials: z.array(z.string()).optional(),
  cleanup: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
  request_id: z.string().optional(),
  /** A place in another chain that this record vouches for. */
  anchors: z.object({ chain: z.string(), seq: z.int(), hash: z.string() }).optional(),
})
export type AuditRecordView = z.output<typeof AuditRecordView>
export const AuditPage = pageOf(AuditRecordView)

export const VerifyAuditBody = z.strictObject({
  /** Places of chains that were kept elsewhere: who can rewrite the whole database does not reach those. */
  known: z
    .array(
      z.strictObject({
        chain: z.string().regex(/^\w{1,64}$/, { error: 'must be the id of a session or a tenant' }),
        seq: z.int({ error: 'must be a whole number' }).min(1, { error: 'must be at least 1' }),
        hash: z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits' }),
      }),
    )
    .max(1000, { error: 'must name at most 1000 places' })
    .default([]),
})

export const AuditVerdict = z.object({
  records: z.int(),
  chains: z.int(),
  problems: z.int(),
  /** The first hundred of them. */
  items: z.array(
    z.object({
      kind: z.enum(['changed', 'missing', 'reordered', 'inserted', 'wrong-head', 'missing-anchor']),
      chain: z.string(),
      seq: z.int(),
      message: z.string(),
    }),
  ),
})
export type AuditVerdict = z.output<typeof AuditVerdict>
