/**
 * What tenants promise on every store, as runnable proofs.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import { CreateTenantBody, TenantPolicy } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { updateTenant } from '../../store/tables/tenants.ts'
import { DEFAULT_TENANT_ID } from '../principal.ts'
import { createTenants } from '../tenants.ts'
import { PLATFORM, randomTenantName } from './laboratory.ts'
import type { Laboratory } from './laboratory.ts'

export function tenantsContract(name: string, laboratory: () => Promise<Laboratory>): void {
  describe(`${name} keeps tenants`, () => {
    test('the default tenant is there after every start, once', async () => {
      const { needs, tenants, auditOf } = await laboratory()
      await Promise.all(Array.from({ length: 5 }, () => createTenants(needs).ensureDefaultTenant()))
      expect(await tenants.get(PLATFORM, DEFAULT_TENANT_ID)).toMatchObject({ name: 'default', state: 'active', version: 1 })
      expect((await auditOf(DEFAULT_TENANT_ID)).filter(({ action }) => action === 'tenant.create')).toHaveLength(1)
    })

    test('two at once with one name make one tenant', async () => {
      const { tenants } = await laboratory()
      const wish = CreateTenantBody.parse({ name: randomTenantName() })
      const outcomes = await Promise.allSettled([tenants.create(PLATFORM, wish), tenants.create(PLATFORM, wish)])
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'name_taken' } })
    })

    test('of many changes on one version, one is made; the others are told', async () => {
      const { tenants, tenant, auditOf } = await laboratory()
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) => tenants.setQuotas(PLATFORM, tenant.id, tenant.version, { open_sessions: index })),
      )
      const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
      expect(refusals).toHaveLength(9)
      for (const refusal of refusals) expect(refusal).toMatchObject({ code: 'version_conflict', details: { version: 2 } })
      expect((await tenants.get(PLATFORM, tenant.id)).version).toBe(2)
      expect((await auditOf(tenant.id)).map(({ action }) => action)).toEqual(['tenant.create', 'tenant.set-quotas'])
    })

    test('a change decided on an older version is not made, whoever asks for it', async () => {
      const { store, tenants, tenant } = await laboratory()
      const policy = TenantPolicy.parse({ admin_exec: true })
      await tenants.setPolicy(PLATFORM, tenant.id, 1, policy)
      const conflict = { code: 'version_conflict', details: { version: 2 } }
      await expect(tenants.setPolicy(PLATFORM, tenant.id, 1, tenant.policy)).rejects.toMatchObject(conflict)
      await expect(tenants.setQuotas(PLATFORM, tenant.id, 3, {})).rejects.toMatchObject(conflict)
      expect(await store.write((transaction) => updateTenant(transaction, tenant, { state: 'terminating' }))).toBeNull()
      expect(await tenants.get(PLATFORM, tenant.id)).toEqual({ ...tenant, policy, version: 2 })
    })

    test('a policy counts from the moment its change is acknowledged', async () => {
      const { tenants, tenant } = await laboratory()
      expect(await tenants.policyOf(tenant.id)).toMatchObject({ admin_exec: false })
      await tenants.setPolicy(PLATFORM, tenant.id, tenant.version, TenantPolicy.parse({ admin_exec: true }))
      expect(await tenants.policyOf(tenant.id)).toEqual({ admin_exec: true, packing: { profiles: [] }, ceilings: {} })
      expect(await tenants.policyOf('tnt_nowhere')).toBeNull()
    })

    test('a tenant is found by its id and by its name, until it is terminated, and from that moment not', async () => {
      const { tenants, tenant } = await laboratory()
      const found = () => Promise.all([tenant.id, tenant.name, 'tnt_nowhere', 'nowhere', ''].map((word) => tenants.activeTenant(word)))
      expect(await found()).toEqual([tenant.id, tenant.id, null, null, null])
      expect(await tenants.policyOf(tenant.name)).toBeNull()
      await tenants.terminate(PLATFORM, tenant.id)
      expect(await found()).toEqual([null, null, null, null, null])
      expect(await tenants.policyOf(tenant.id)).not.toBeNull()
    })

    test('a tenant that is being terminated gets no new keys, and there is no way back', async () => {
      const { tenants, tenant, admin, keys, make, authenticate } = await laboratory()
      const { key } = await make()
      expect(await tenants.terminate(PLATFORM, tenant.id)).toMatchObject({ state: 'terminating', version: 2 })
      expect(await tenants.terminate(PLATFORM, tenant.id)).toMatchObject({ state: 'terminating', version: 2 })
      await expect(make()).rejects.toMatchObject({ code: 'forbidden' })
      expect(await keys.list(admin, null, 10)).toHaveLength(1)
      expect(await authenticate(key)).toMatchObject({ tenantId: tenant.id })
      await expect(tenants.terminate(PLATFORM, DEFAULT_TENANT_ID)).rejects.toMatchObject({ code: 'forbidden' })
    })

    test('only a platform administrator makes, shapes, lists or ends tenants; others see their own', async () => {
      const { tenants, tenant, admin } = await laboratory()
      const wish = CreateTenantBody.parse({ name: 'never-made' })
      const attempts = [
        () => tenants.create(admin, wish),
        () => tenants.list(admin, '', 10),
        () => tenants.setPolicy(admin, tenant.id, 1, wish.policy),
        () => tenants.setQuotas(admin, tenant.id, 1, {}),
        () => tenants.terminate(admin, tenant.id),
      ]
      for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: 'forbidden' })
      expect(await tenants.get(admin, tenant.id)).toEqual(tenant)
      await expect(tenants.get(admin, DEFAULT_TENANT_ID)).rejects.toMatchObject({ code: 'not_found' })
      await expect(tenants.get(PLATFORM, 'tnt_nowhere')).rejects.toMatchObject({ code: 'not_found' })
    })

    test('a list goes on after the name where the page before ended', async () => {
      const { tenants, tenant } = await laboratory()
      await laboratory()
      const names: string[] = []
      for (let page = await tenants.list(PLATFORM, '', 2); page.length > 0; page = await tenants.list(PLATFORM, page.at(-1)?.name ?? '', 2))
        names.push(...page.map((found) => found.name))
      expect(names).toEqual([...new Set(names)])
      expect(names).toEqual(expect.arrayContaining(['default', tenant.name]))
    })
  })
}
