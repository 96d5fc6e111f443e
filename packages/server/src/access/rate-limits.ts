/**
 * How often somebody may ask: a bucket for each principal, on each server.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * A principal is a key, or a token's subject, together with whom it speaks for: so one busy user of a program does not slow down the others.
 * A service key has a second bucket for all users it speaks for, so that invented users do not lift the limit.
 */
import { HoldfastError } from '@holdfast/protocol'
import { OIDC_KEY_ID } from './principal.ts'
import type { Principal } from './principal.ts'
import { tokenBuckets } from './token-buckets.ts'
import type { Rate } from './token-buckets.ts'

const MAXIMUM_PRINCIPALS = 10_000

/**
 * Throws `rate_limited` for one who asks too often; otherwise this request is counted. `linkId`: a link speaks for the principal; it has
 * a bucket of its own, so that its holders do not use up what its owner may ask.
 */
export type Admit = (principal: Principal, linkId?: string) => void

export interface RateLimitNeeds {
  /** `null`: as often as they like. */
  readonly rate: Rate | null
  /** Of a service key, for all users that it speaks for; `null`: no limit. */
  readonly serviceRate?: Rate | null
  readonly clock: () => number
}

export function rateLimit({ rate, serviceRate = null, clock }: RateLimitNeeds): Admit {
  const users = limiter(rate, clock, 'requests', 'you ask too often')
  const services = limiter(serviceRate, clock, 'service-requests', 'this service key asks too often for all of its users')
  return (principal, linkId) => {
    users(linkId ?? nameOf(principal))
    if (linkId === undefined && principal.onBehalfOf !== null) services(principal.keyId ?? '')
  }
}

function limiter(rate: Rate | null, clock: () => number, policy: string, sentence: string): (name: string) => void {
  if (rate === null) return () => {}
  const buckets = tokenBuckets({ ...rate, clock, limit: MAXIMUM_PRINCIPALS })
  return (name) => {
    const waitMs = buckets.take(name)
    if (waitMs > 0) throw rateLimited(policy, rate, waitMs, sentence)
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
