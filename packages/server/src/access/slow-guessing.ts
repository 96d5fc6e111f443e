/**
 * Authentication that cannot be tried quickly: failures are counted for each address, and told to the log.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * Keys that the server made and signed tokens cannot be guessed, so they are always verified: from an address with too many failures a good
 * one is accepted and a wrong one is `rate_limited`. Anything else could be a short key that an operator chose. From such an address it is
 * refused without being compared, unless it was good from there a while ago.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { HoldfastError } from '@holdfast/protocol'
import type { Log } from '../telemetry/log.ts'
import { candidateOf, isToken } from './authenticate.ts'
import type { AuthenticateRequest, RequestCredentials } from './authenticate.ts'
import { neighbourhood, UNKNOWN_ADDRESS } from './client-address.ts'
import { hashKey, looksLikeKey } from './key-secret.ts'
import { rateLimited } from './rate-limits.ts'
import { reasonOf } from './refusal.ts'
import { tokenBuckets } from './token-buckets.ts'
import type { Rate } from './token-buckets.ts'

const MAXIMUM_ADDRESSES = 10_000
const MAXIMUM_KNOWN = 10_000
/** Lines in the log: the rest is counted, and the count is in the next line. */
const LOGGED: Rate = { perSecond: 1, burst: 10 }

export interface SlowGuessingNeeds {
  readonly authenticate: AuthenticateRequest
  /** Failures of one address; `null`: as many as it likes. */
  readonly rate: Rate | null
  readonly clock: () => number
  readonly log: Log
}

export function slowGuessing({ authenticate, rate, clock, log }: SlowGuessingNeeds): AuthenticateRequest {
  const failures = rate === null ? null : tokenBuckets({ ...rate, clock, limit: MAXIMUM_ADDRESSES })
  const lines = tokenBuckets({ ...LOGGED, clock, limit: 1 })
  /** Hashes of good credentials, each with where it was good. */
  const known = new Set<string>()
  let unlogged = 0

  function tell(reason: string, client: string): void {
    if (lines.take('') > 0) {
      unlogged += 1
      return
    }
    log.warn('authentication-failed', { reason, client, ...(unlogged === 0 ? {} : { unlogged }) })
    unlogged = 0
  }

  function tooManyFailures(waitMs: number): HoldfastError {
    return rateLimited('failed-authentication', rate ?? LOGGED, waitMs, 'too many attempts with credentials that are not valid')
  }

  function remember(pair: string): void {
    known.add(pair)
    const oldest = known.keys().next()
    if (known.size > MAXIMUM_KNOWN && oldest.done !== true) known.delete(oldest.value)
  }

  return async (credentials) => {
    const { address = UNKNOWN_ADDRESS } = credentials
    const from = neighbourhood(address)
    const hash = hashOf(credentials)
    const pair = hash === null ? null : `${hash} ${from}`
    const isKnown = pair !== null && known.has(pair)
    const waitMs = pair === null || isKnown ? 0 : (failures?.wait(from) ?? 0)
    if (waitMs > 0 && isGuessable(credentials)) throw tooManyFailures(waitMs)
    try {
      const principal = await authenticate(credentials)
      if (pair !== null) remember(pair)
      return principal
    } catch (error) {
      if (isHoldfastError(error, 'unauthorized')) {
        if (waitMs > 0) throw tooManyFailures(waitMs)
        // Requests without credentials do not count as failed attempts.
        if (pair !== null) {
          known.delete(pair)
          failures?.charge(from)
        }
        tell(reasonOf(error), address)
      }
      throw error
    }
  }
}

/** Whether it could be a key that a person chose. */
function isGuessable(credentials: RequestCredentials): boolean {
  const candidate = candidateOf(credentials)
  return candidate !== undefined && !looksLikeKey(candidate) && !isToken(candidate)
}

function hashOf({ apiKey, authorization }: RequestCredentials): string | null {
  const given = apiKey ?? authorization
  return given === undefined ? null : hashKey(given)
}
