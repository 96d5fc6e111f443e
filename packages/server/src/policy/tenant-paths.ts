/**
 * Paths of the host that differ from tenant to tenant: `{tenant}` in them becomes the tenant's id.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'

export const TENANT_PLACEHOLDER = '{tenant}'

/** The id becomes part of a path, so nothing but what the server makes is let through. */
const TENANT_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export function inTenant(path: string, tenantId: string): string {
  if (!path.includes(TENANT_PLACEHOLDER)) return path
  if (!TENANT_ID.test(tenantId)) throw new HoldfastError('internal', 'a tenant id is not what the server makes')
  return path.replaceAll(TENANT_PLACEHOLDER, tenantId)
}
