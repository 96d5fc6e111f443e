/**
 * One request to be tried, as it goes over the wire but for its references: `@@session@@` and the like become ids when it is sent.
 */
import type { Operation } from './api-document.ts'

export const PRINCIPALS = ['member', 'admin', 'tenant_admin', 'operator', 'viewer', 'service', 'stranger', 'nobody', 'guesser'] as const
/** `stranger`: a member of another tenant. `nobody` has no key, and `guesser` a wrong one. */
export type PrincipalName = (typeof PRINCIPALS)[number]

export type Manner = 'valid' | 'nearly valid' | 'hostile'

export type Header = readonly [name: string, value: string]

export interface Attempt {
  readonly operation: Operation
  readonly manner: Manner
  readonly principal: PrincipalName
  readonly method: string
  /** Percent-encoded, with its query. */
  readonly target: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array | null
  /** Method or path are not those of the operation: any other, or none, may answer. */
  readonly isAstray: boolean
  /** Sent afterwards with the same Idempotency-Key: this request again, then with this body. */
  readonly replay: Uint8Array | null
  /** Sent byte for byte instead of all of the above. */
  readonly wire: Uint8Array | null
}

export function headerOf({ headers }: Pick<Attempt, 'headers'>, name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1]
}
