/**
 * Tokens of an identity provider (OpenID Connect): believed when its keys signed them for us, now.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * Only signatures with a private key count: a token that is signed with a shared secret, or not at all, is refused whatever keys there are.
 * The caller is told that a token is not valid, never why; the log has the reason.
 */
import { errors, jwtVerify } from 'jose'
import { isHoldfastError, HoldfastError } from '@holdfast/protocol'
import type { VerifyToken } from '../authenticate.ts'
import { OIDC_KEY_ID } from '../principal.ts'
import { refusal } from '../refusal.ts'
import type { RefusalReason } from '../refusal.ts'
import type { Tenants } from '../tenants.ts'
import type { FetchJson } from './fetch-json.ts'
import { issuerKeys } from './issuer-keys.ts'
import { bearerOf } from './token-claims.ts'
import type { ClaimRules } from './token-claims.ts'

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** Clocks differ. */
const TOLERANCE_SECONDS = 60
const MAXIMUM_LENGTH = 8 * 1024

export interface OidcRules extends ClaimRules {
  readonly issuer: string
  /** A token is for us when it names one of these. */
  readonly audiences: readonly string[]
}

export interface TokensNeeds {
  readonly rules: OidcRules
  readonly tenants: Pick<Tenants, 'activeTenant'>
  readonly fetchJson: FetchJson
  readonly clock: () => number
}

export function tokenVerifier({ rules, tenants, fetchJson, clock }: TokensNeeds): VerifyToken {
  const { issuer, audiences } = rules
  const keys = issuerKeys({ issuer, fetchJson, clock })
  return async (token) => {
    if (token.length > MAXIMUM_LENGTH) throw refusal('the token is not valid', 'token-too-large')
    const claims = await verified(token)
    const { subject, groups, role, tenant } = bearerOf(claims, rules)
    const tenantId = await tenants.activeTenant(tenant)
    if (tenantId === null) throw refusal('the token is not valid', 'token-tenant')
    return { tenantId, subject, groups, role, kind: 'user', keyId: OIDC_KEY_ID, onBehalfOf: null }
  }

  async function verified(token: string) {
    try {
      const { payload } = await jwtVerify(token, keys, {
        ...{ issuer, audience: [...audiences], algorithms: ALGORITHMS, clockTolerance: TOLERANCE_SECONDS },
        // One without an end would be good for ever.
        ...{ requiredClaims: ['exp'], currentDate: new Date(clock()) },
      })
      return payload
    } catch (error) {
      if (isHoldfastError(error)) throw error
      if (error instanceof errors.JOSEError) throw refusal('the token is not valid', reasonOf(error))
      // A key of the issuer that cannot be used, whatever the token says.
      throw new HoldfastError('identity_provider_unavailable', 'a key of the identity provider cannot be used', {}, { cause: error })
    }
  }
}

const OF_CLAIM: Readonly<Record<string, RefusalReason>> = { iss: 'token-issuer', aud: 'token-audience', nbf: 'token-not-yet-valid' }

function reasonOf(error: errors.JOSEError): RefusalReason {
  if (error instanceof errors.JWTExpired) return 'token-expired'
  if (error instanceof errors.JWTClaimValidationFailed) return OF_CLAIM[error.claim] ?? 'token-claims'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'token-signature'
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) return 'token-algorithm'
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) return 'token-key-unknown'
  return 'token-malformed'
}
