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

export function refusal(sentence: string, reason: RefusalReason): HoldfastError<'unauthorized'> {
  return new HoldfastError('unauthorized', sentence, {}, { cause: new Refusal(reason) })
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
