/**
 * What the proofs of access share: parts with a clock of their own over one store, and a tenant for each proof.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import { CreateKeyBody, CreateTenantBody } from '@holdfast/protocol'
import type { CreateKeyBodyInput } from '@holdfast/protocol'
import { randomId } from '../../home/random-id.ts'
import type { Store } from '../../store/store.ts'
import { createAuthenticator } from '../authenticate.ts'
import type { RequestCredentials } from '../authenticate.ts'
import { createKeys } from '../keys.ts'
import { DEFAULT_TENANT_ID } from '../principal.ts'
import type { Principal } from '../principal.ts'
import { createTenants } from '../tenants.ts'

export const ADMIN_KEY = 'the-key-in-the-home'
/** Said alike of every key that is not good. */
export const INVALID = { code: 'unauthorized', message: 'the API key is not valid', details: {} }

export const PLATFORM: Principal = {
  ...{
    tenantId: DEFAULT_TENANT_ID,
    subject: 'root',
    groups: [],
    role: 'platform_admin',
    kind: 'user',
    keyId: 'key_root',
    onBehalfOf: null,
  },
}

export type Laboratory = Awaited<ReturnType<typeof openLaboratory>>

export async function openLaboratory(store: Store) {
  const time = { now: 1_000_000 }
  const needs = { store, clock: () => time.now }
  const [keys, tenants] = [createKeys(needs), createTenants(needs)]
  const authenticator = createAuthenticator({ adminKey: { matches: (key) => key === ADMIN_KEY }, keys, tenants })
  const tenant = await tenants.create(PLATFORM, CreateTenantBody.parse({ name: randomTenantName() }))
  const admin: Principal = { ...PLATFORM, tenantId: tenant.id, subject: 'boss', role: 'tenant_admin' }
  const make = (wish: Partial<CreateKeyBodyInput> = {}, by = admin) =>
    keys.create(by, CreateKeyBody.parse({ name: 'a key', subject: 'alice', ...wish }))
  const authenticate = (apiKey: string | undefined, more: Partial<RequestCredentials> = {}) =>
    authenticator({ authorization: undefined, apiKey, ...more })
  /** The records on a tenant's chain, in order. */
  const auditOf = async (tenantId: string) => {
    const rows = await store.read((sql) => sql.all('SELECT body FROM audit WHERE chain = ? ORDER BY seq', tenantId))
    return rows.map(({ body }) => JSON.parse(String(body)) as { readonly action: string })
  }
  return { store, time, needs, keys, tenants, tenant, admin, make, authenticate, auditOf }
}

export function randomTenantName(): string {
  return randomId('t').replace('_', '-')
}
