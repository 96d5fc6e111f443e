/**
 * Authentication that cannot be tried quickly: failures are counted for each address, and told to the log.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * An address with too many failures is refused before its credentials are looked at, so that it learns nothing from going on. What was good
 * from that address a while ago is looked at nevertheless: one who guesses from behind a proxy does not lock out those who share it.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Log } from '../telemetry/log.ts'
import type { AuthenticateRequest, RequestCredentials } from './authenticate.ts'
import { neighbourhood, UNKNOWN_ADDRESS } from './client-address.ts'
import { hashKey } from './key-secret.ts'
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
    if (rate !== null && failures !== null && pair !== null && !known.has(pair)) {
      const waitMs = failures.wait(from)
      if (waitMs > 0) throw rateLimited('failed-authentication', rate, waitMs, 'too many attempts with credentials that are not valid')
    }
    try {
      const principal = await authenticate(credentials)
      if (pair !== null) remember(pair)
      return principal
    } catch (error) {
      if (isHoldfastError(error, 'unauthorized')) {
        // Nothing can be guessed with nothing.
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

function hashOf({ apiKey, authorization }: RequestCredentials): string | null {
  const given = apiKey ?? authorization
  return given === undefined ? null : hashKey(given)
}
