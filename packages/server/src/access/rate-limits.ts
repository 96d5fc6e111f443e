/**
 * How often somebody may ask: a bucket for each principal, on each server.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * A principal is a key, or a token's subject, together with whom it speaks for: so one busy user of a program does not slow down the others.
 */
import { HoldfastError } from '@holdfast/protocol'
import { OIDC_KEY_ID } from './principal.ts'
import type { Principal } from './principal.ts'
import { tokenBuckets } from './token-buckets.ts'
import type { Rate } from './token-buckets.ts'

const MAXIMUM_PRINCIPALS = 10_000

/** Throws `rate_limited` for one who asks too often; otherwise this request is counted. */
export type Admit = (principal: Principal) => void

export interface RateLimitNeeds {
  /** `null`: as often as they like. */
  readonly rate: Rate | null
  readonly clock: () => number
}

export function rateLimit({ rate, clock }: RateLimitNeeds): Admit {
  if (rate === null) return () => {}
  const buckets = tokenBuckets({ ...rate, clock, limit: MAXIMUM_PRINCIPALS })
  return (principal) => {
    const waitMs = buckets.take(nameOf(principal))
    if (waitMs > 0) throw rateLimited('requests', rate, waitMs, 'you ask too often')
  }
}

/** A key that speaks for itself has one subject, so its id is enough. */
function nameOf({ tenantId, keyId, subject, onBehalfOf }: Principal): string {
  if (onBehalfOf === null && keyId !== OIDC_KEY_ID) return keyId ?? ''
  return `${keyId} ${tenantId} ${subject}`
}

/** Who is refused by which policy, and when to come again. */
export function rateLimited(policy: string, { perSecond, burst }: Rate, waitMs: number, sentence: string): HoldfastError<'rate_limited'> {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new HoldfastError('rate_limited', `${sentence}; come again in ${seconds} s`, {
    policy,
    quota: burst,
    window_seconds: Math.max(1, Math.ceil(burst / perSecond)),
    retry_after_seconds: seconds,
  })
}
