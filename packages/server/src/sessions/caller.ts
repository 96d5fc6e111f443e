/**
 * Who asks, as the sessions see it: made by access, asked here, so that no import goes back.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * `visibility` goes into every query, so that what a caller may not see is never even read. `may` is the one decision
 * about a verb on what is visible: `false` becomes `forbidden`.
 */

export const SESSION_VERBS = [
  'read',
  'read-output',
  'exec',
  'files',
  'update',
  'refresh',
  'suspend',
  'resume',
  'cancel-work',
  'cancel',
  'release',
  'transfer',
  'transfer-now',
  'accept-transfer',
  'reject-transfer',
  'hold',
] as const
export type SessionVerb = (typeof SESSION_VERBS)[number]

/** For events and audit. `via` is the key that spoke for the subject. */
export interface Actor {
  readonly type: 'user' | 'service' | 'system'
  readonly subject: string
  readonly via: string | null
}

/** Which sessions exist for a caller: all of a tenant (`owner` is `null`), or an owner's own and those of the groups. */
export interface Visibility {
  readonly tenantId: string
  readonly owner: string | null
  readonly groups: readonly string[]
}

export interface Caller {
  readonly actor: Actor
  readonly visibility: Visibility
  /** What is created belongs to this owner. */
  readonly owner: string
  mayCreate(owner: string, ownerGroup: string | null): boolean
  may(verb: SessionVerb, session: { readonly owner: string; readonly ownerGroup: string | null }): boolean
}

/** The server itself, when a deadline or a repair moves a session. */
export const SYSTEM: Actor = { type: 'system', subject: 'system', via: null }
