/**
 * What one audit record says: who did what to which thing, whether it was allowed, and what came of it.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Never command text, environment, output, keys or their hashes.
 */
import type { ErrorCode } from '@holdfast/protocol'
import type { Actor } from '../caller.ts'

/** What of a session an auditor compares before and after. */
export interface AuditedState {
  readonly state?: string
  readonly version?: number
  readonly expiresAt?: number | null
  readonly owner?: string
}

/** A place in a chain, as another chain vouches for it. */
export interface ChainPlace {
  readonly chain: string
  readonly seq: number
  readonly hash: string
}

/** Absent means that it does not apply. */
export interface AuditRecord {
  /** Noun and verb, such as `session.cancel` or `key.create`. */
  readonly action: string
  readonly actor: Actor
  readonly onBehalfOf?: string
  readonly resource: { readonly type: string; readonly id: string; readonly owner?: string }
  readonly sessionId?: string
  readonly sandboxId?: string
  readonly incarnation?: number
  readonly executionId?: string
  readonly decision: 'allow' | 'deny'
  readonly outcome: 'success' | 'failure' | 'noop'
  readonly errorCode?: ErrorCode
  readonly before?: AuditedState
  readonly after?: AuditedState
  /** Names of credentials that were created, replaced or removed. */
  readonly credentials?: readonly string[]
  /** Counts and verdicts of a clean-up. */
  readonly cleanup?: Readonly<Record<string, string | number | boolean | null>>
  readonly requestId?: string
  /** Given by `anchorChain`. */
  readonly anchors?: ChainPlace
}
