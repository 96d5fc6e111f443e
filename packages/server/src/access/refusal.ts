/**
 * Credentials that are not believed: one sentence for the caller, and the reason for the log alone.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'

export type RefusalReason =
  | 'no-credentials'
  | 'key-not-valid'
  | 'token-too-large'
  | 'token-malformed'
  | 'token-algorithm'
  | 'token-key-unknown'
  | 'token-signature'
  | 'token-expired'
  | 'token-not-yet-valid'
  | 'token-issuer'
  | 'token-audience'
  | 'token-claims'
  | 'token-subject'
  | 'token-groups'
  | 'token-role'
  | 'token-tenant'

const NONE = 'Send an API key as `Authorization: Bearer …` or `X-API-Key`; the SDK and the command line take it from HOLDFAST_API_KEY.'
/** Never says which of them it is. */
const WRONG =
  'The key or token is wrong, was revoked or has expired: check HOLDFAST_API_KEY, or have a new key made with `holdfast keys create`.'

export function refusal(sentence: string, reason: RefusalReason): HoldfastError<'unauthorized'> {
  return new HoldfastError('unauthorized', sentence, {}, { cause: new Refusal(reason), hint: reason === 'no-credentials' ? NONE : WRONG })
}

/** Why, for those who run the server. */
export function reasonOf({ cause }: HoldfastError): RefusalReason | 'unknown' {
  return cause instanceof Refusal ? cause.reason : 'unknown'
}

class Refusal extends Error {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason) {
    super(reason)
    this.reason = reason
  }
}
