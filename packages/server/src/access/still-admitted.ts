/**
 * Whether the key that asked for a link is still accepted, so that a link ends with its key.
 */
import type { Keys } from './keys.ts'
import { ADMIN_KEY_ID, OIDC_KEY_ID } from './principal.ts'

export interface AdmissionNeeds {
  readonly keys: Pick<Keys, 'findById'>
  /** How this server admits requests: with keys or as everybody, and with tokens too. */
  readonly lets: { readonly keys: boolean; readonly tokens: boolean }
}

export function stillAdmitted({ keys, lets }: AdmissionNeeds): (keyId: string | null) => Promise<boolean> {
  return async (keyId) => {
    if (keyId === null) return !lets.keys
    if (keyId === ADMIN_KEY_ID) return lets.keys
    if (keyId === OIDC_KEY_ID) return lets.keys && lets.tokens
    return lets.keys && (await keys.findById(keyId)) !== null
  }
}
