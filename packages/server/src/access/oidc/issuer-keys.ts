/**
 * The keys of an issuer: found through its discovery document, kept for some minutes, read again when a token names one that is not there.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * Nobody is let in on keys that could not be renewed in time. An issuer that does not answer is asked again after some seconds, not by
 * every request; and a token with an invented key makes it be asked at most twice a minute.
 */
import { HoldfastError } from '@holdfast/protocol'
import { createLocalJWKSet, errors } from 'jose'
import type { JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import type { FetchJson } from './fetch-json.ts'

const FRESH_MS = 10 * 60_000
/** Between two readings because of a key that was not there. */
const ROTATION_MS = 30_000
/** After a failure. */
const PATIENCE_MS = 5000

/** What is read of what an issuer says; the rest is its own business. */
const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) })
const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) })

export interface IssuerKeysNeeds {
  readonly issuer: string
  readonly fetchJson: FetchJson
  readonly clock: () => number
}

export function issuerKeys({ issuer, fetchJson, clock }: IssuerKeysNeeds): JWTVerifyGetKey {
  let keys: { readonly find: JWTVerifyGetKey; readonly since: number } | null = null
  let failure: { readonly error: unknown; readonly since: number } | null = null
  let loading: Promise<JWTVerifyGetKey> | null = null

  async function read(): Promise<JWTVerifyGetKey> {
    const since = clock()
    try {
      const found = Discovery.parse(await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`))
      if (found.issuer !== issuer) throw new Error(`the discovery document is that of ${JSON.stringify(found.issuer)}`)
      if (!found.jwks_uri.startsWith('https:') && issuer.startsWith('https:')) throw new Error('the keys are not offered over https')
      const find = createLocalJWKSet(KeySet.parse(await fetchJson(found.jwks_uri)))
      keys = { find, since }
      failure = null
      return find
    } catch (error) {
      failure = { error, since: clock() }
      throw unavailable(error)
    }
  }

  function reload(): Promise<JWTVerifyGetKey> {
    if (failure !== null && isWithin(failure.since, PATIENCE_MS)) return Promise.reject(unavailable(failure.error))
    loading ??= read().finally(() => {
      loading = null
    })
    return loading
  }

  const isWithin = (since: number, ms: number) => clock() >= since && clock() < since + ms

  return async (header, token) => {
    const known = keys !== null && isWithin(keys.since, FRESH_MS) ? keys : null
    const find = known?.find ?? (await reload())
    try {
      return await find(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || known === null || isWithin(known.since, ROTATION_MS)) throw error
      return (await reload())(header, token)
    }
  }
}

function unavailable(cause: unknown): HoldfastError {
  return new HoldfastError('identity_provider_unavailable', 'the keys of the identity provider cannot be read at the moment', {}, { cause })
}
