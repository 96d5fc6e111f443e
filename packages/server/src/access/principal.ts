/**
 * Who a request comes from, once its credentials are believed.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import type { KeyKind, Role } from '@holdfast/protocol'
import type { AuditRecord } from '../sessions/audit/audit-record.ts'
import type { Actor } from '../sessions/caller.ts'

export interface Principal {
  readonly tenantId: string
  /** Who owns what this one creates. */
  readonly subject: string
  readonly groups: readonly string[]
  readonly role: Role
  readonly kind: KeyKind
  /** The key that spoke; `null` when the server asks for none. */
  readonly keyId: string | null
  /** Set when a service key speaks for somebody else: that one, who then is `subject` too. */
  readonly onBehalfOf: string | null
}

export const DEFAULT_TENANT_ID = 'tnt_default'
/** Subjects of the workspaces of LangBot's Box. */
export const BOX_SUBJECTS = 'langbot:'
/** Stands for the key in the home or the configuration, which has no row. */
export const ADMIN_KEY_ID = 'admin_key'
/** Stands for a token of the identity provider, which is no key of ours. */
export const OIDC_KEY_ID = 'oidc'

/** The principal as events and audit name it: a user whom a service speaks for is a user, and `via` says by which key. */
export function actorOf({ kind, subject, keyId, onBehalfOf }: Principal): Actor {
  return { type: onBehalfOf === null ? kind : 'user', subject, via: keyId }
}

/** An audit record of something that the principal did. */
export function recordOf(principal: Principal, what: Pick<AuditRecord, 'action' | 'resource' | 'before' | 'after'>): AuditRecord {
  const { onBehalfOf } = principal
  return { ...what, actor: actorOf(principal), ...(onBehalfOf === null ? {} : { onBehalfOf }), decision: 'allow', outcome: 'success' }
}
