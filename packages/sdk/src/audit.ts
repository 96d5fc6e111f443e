/**
 * The audit: who did what, and whether the records are still as they were written.
 */
import type { AuditRecordView, AuditVerdict as WireVerdict } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { createList } from './lists.ts'
import type { List, PagingOptions } from './lists.ts'
import type { Transport } from './transport/transport.ts'
import { camel } from './wire-names.ts'

export interface AuditedState {
  readonly state?: string | undefined
  readonly version?: number | undefined
  readonly expiresAt?: string | null | undefined
  readonly owner?: string | undefined
}

export interface AuditRecord {
  readonly at: string
  /** Whose chain it is on: a session's or the tenant's. */
  readonly chain: string
  readonly seq: number
  readonly previous: string
  readonly hash: string
  readonly action: string
  readonly actor: { readonly type: 'user' | 'service' | 'system'; readonly subject: string; readonly via: string | null }
  readonly onBehalfOf?: string | undefined
  readonly resource: { readonly type: string; readonly id: string; readonly owner?: string | undefined }
  readonly sessionId?: string | undefined
  readonly sandboxId?: string | undefined
  readonly incarnation?: number | undefined
  readonly executionId?: string | undefined
  readonly decision: 'allow' | 'deny'
  readonly outcome: 'success' | 'failure' | 'noop'
  readonly errorCode?: string | undefined
  readonly before?: AuditedState | undefined
  readonly after?: AuditedState | undefined
  readonly cleanup?: Readonly<Record<string, string | number | boolean | null>> | undefined
  readonly requestId?: string | undefined
  /** A place in another chain that this record vouches for. */
  readonly anchors?: AuditPlace | undefined
}

export interface AuditPlace {
  readonly chain: string
  readonly seq: number
  readonly hash: string
}

export interface AuditVerdict {
  readonly records: number
  readonly chains: number
  readonly problems: number
  /** The first hundred of them. */
  readonly items: readonly { readonly kind: string; readonly chain: string; readonly seq: number; readonly message: string }[]
}

export interface Audit {
  /** Newest first: of the tenant, or of one's own sessions. */
  list(options?: PagingOptions & { readonly sessionId?: string | undefined }): List<AuditRecord>
  /** Checks every record; `known` are places that were kept elsewhere. */
  verify(options?: CallOptions & { readonly known?: readonly AuditPlace[] | undefined }): Promise<AuditVerdict>
}

export function createAudit(transport: Transport): Audit {
  return {
    list: ({ sessionId, ...options } = {}) =>
      createList(transport, { path: '/v1/audit', query: { session: sessionId } }, options, auditRecord),
    verify: ({ known = [], ...options } = {}) =>
      transport.json<WireVerdict>({ method: 'POST', path: '/v1/audit/verify', json: { known }, ...callOf(options) }),
  }
}

function auditRecord(wire: AuditRecordView): AuditRecord {
  const { before, after, ...rest } = wire
  return {
    ...camel(rest),
    ...(before === undefined ? {} : { before: camel(before) }),
    ...(after === undefined ? {} : { after: camel(after) }),
  }
}
