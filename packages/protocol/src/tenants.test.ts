/** Tenants on the wire: what is left out is what is safest, and an unknown word is an error. */
import { expect, test } from 'vitest'
import { CreateTenantBody, TenantPolicy, TenantQuotas } from './tenants.ts'

test('a tenant of which only the name is said lets administrators into nothing and packs nothing', () => {
  expect(CreateTenantBody.parse({ name: 'acme' })).toEqual({
    ...{ name: 'acme', policy: { admin_exec: false, packing: { profiles: [] }, ceilings: {} }, quotas: {} },
  })
})

test.each([
  { admin_exec: 'yes' },
  { adminExec: true },
  { packing: {} },
  { packing: { profiles: ['../x'] } },
  { ceilings: { idle_seconds: 0 } },
])('the policy %j is refused', (policy) => expect(TenantPolicy.safeParse(policy).success).toBe(false))

test('a limit that is lifted is kept apart from one that is left out', () => {
  expect(TenantQuotas.parse({ open_sessions: null })).toEqual({ open_sessions: null })
})

test.each([{ open_sessions: -1 }, { open_sessions: 1.5 }, { sessions: 5 }])('the quotas %j are refused', (quotas) => {
  expect(TenantQuotas.safeParse(quotas).success).toBe(false)
})

test.each(['', 'Acme', '-acme', 'a b', 'x'.repeat(64)])('%j is no name for a tenant', (name) => {
  expect(CreateTenantBody.safeParse({ name }).success).toBe(false)
})
