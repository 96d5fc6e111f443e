/**
 * Credentials of one request → yes or `unauthorized`.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { AdminKey } from './admin-key.ts'

export interface Credentials {
  readonly authorization: string | undefined
  readonly apiKey: string | undefined
}

export type Authenticate = (credentials: Credentials) => void

/** `null` as key: everybody may, which the composition root allows on loopback only. */
export function authenticator(key: Pick<AdminKey, 'matches'> | null): Authenticate {
  if (key === null) return () => {}
  return ({ authorization, apiKey }) => {
    const candidate = apiKey ?? bearerToken(authorization)
    if (candidate === undefined) throw new HoldfastError('unauthorized', 'this address needs an API key and the request has none')
    if (!key.matches(candidate)) throw new HoldfastError('unauthorized', 'the API key is not valid')
  }
}

function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+)$/i.exec(header)?.[1]
}
