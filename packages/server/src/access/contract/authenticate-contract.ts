/**
 * Whom a request may speak for and in which tenant, on every store, as runnable proofs.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import type { Role } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { createAuthenticator } from '../authenticate.ts'
import type { RequestCredentials } from '../authenticate.ts'
import { DEFAULT_TENANT_ID } from '../principal.ts'
import { ADMIN_KEY } from './laboratory.ts'
import type { Laboratory } from './laboratory.ts'

export function authenticateContract(name: string, laboratory: () => Promise<Laboratory>): void {
  describe(`${name} lets keys speak for others`, () => {
    test.each<[Role, Role]>([
      ['viewer', 'viewer'],
      ['member', 'member'],
      ['operator', 'member'],
      ['tenant_admin', 'member'],
    ])('a service key that is %s speaks for a user as %s, and for itself as it is', async (role, capped) => {
      const { authenticate, tenant, make } = await laboratory()
      const { key, record } = await make({ kind: 'service', subject: 'bot', role, groups: ['bots', 'red'], users: { list: ['carol'] } })
      expect(await authenticate(key)).toMatchObject({ subject: 'bot', role, groups: ['bots', 'red'], onBehalfOf: null })
      expect(await authenticate(key, { onBehalfOf: 'carol', onBehalfOfGroups: 'red' })).toEqual({
        ...{ tenantId: tenant.id, subject: 'carol', groups: ['red'], role: capped, kind: 'service', keyId: record.id, onBehalfOf: 'carol' },
      })
      expect(await authenticate(key, { onBehalfOf: 'carol' })).toMatchObject({ groups: [] })
      expect(await authenticate(key, { onBehalfOf: 'carol', onBehalfOfGroups: 'red , bots' })).toMatchObject({ groups: ['red', 'bots'] })
    })

    test('a user key speaks for nobody else, itself included', async () => {
      const { authenticate, make } = await laboratory()
      const { key } = await make()
      for (const onBehalfOf of ['carol', 'alice', ''])
        await expect(authenticate(key, { onBehalfOf })).rejects.toMatchObject({ code: 'forbidden' })
      for (const onBehalfOfGroups of ['red', `a${' '.repeat(1_000_000)}b`])
        await expect(authenticate(key, { onBehalfOfGroups })).rejects.toMatchObject({ code: 'forbidden' })
    })

    test.each<Partial<RequestCredentials>>([
      { onBehalfOf: '' },
      { onBehalfOf: 'a\nb' },
      { onBehalfOf: 'x'.repeat(256) },
      { onBehalfOfGroups: 'red' },
      { onBehalfOf: 'carol', onBehalfOfGroups: '' },
      { onBehalfOf: 'carol', onBehalfOfGroups: Array.from({ length: 65 }, (_, index) => `g${index}`).join(',') },
    ])('a service key that names nobody properly does not fall back to itself: %j', async (named) => {
      const { authenticate, make } = await laboratory()
      const { key } = await make({ kind: 'service' })
      await expect(authenticate(key, named)).rejects.toMatchObject({ code: 'invalid_request' })
    })
  })

  describe(`${name} knows the administrator’s key`, () => {
    test('is the platform administrator of the default tenant, and of any other it names', async () => {
      const { authenticate, tenant } = await laboratory()
      const admin = { tenantId: DEFAULT_TENANT_ID, subject: 'admin', role: 'platform_admin', keyId: 'admin_key', onBehalfOf: null }
      expect(await authenticate(ADMIN_KEY)).toMatchObject(admin)
      expect(await authenticate(ADMIN_KEY, { tenant: tenant.id })).toMatchObject({ ...admin, tenantId: tenant.id })
      expect(await authenticate(ADMIN_KEY, { tenant: tenant.id, onBehalfOf: 'carol' })).toMatchObject({ subject: 'carol', role: 'member' })
      await expect(authenticate(ADMIN_KEY, { tenant: 'tnt_nowhere' })).rejects.toMatchObject({ code: 'not_found' })
    })

    test('is everybody where no key is asked for', async () => {
      const { keys, tenants } = await laboratory()
      const authenticate = createAuthenticator({ adminKey: null, keys, tenants })
      const principal = await authenticate({ authorization: undefined, apiKey: undefined })
      expect(principal).toMatchObject({ tenantId: DEFAULT_TENANT_ID, subject: 'admin', role: 'platform_admin', keyId: null })
    })

    test('nobody below it names another tenant, and learns nothing by trying', async () => {
      const { authenticate, tenant, make } = await laboratory()
      const other = await laboratory()
      const { key } = await make({ role: 'tenant_admin' })
      expect(await authenticate(key, { tenant: tenant.id })).toMatchObject({ tenantId: tenant.id })
      const tries = [other.tenant.id, 'tnt_nowhere', ''].map((id) => authenticate(key, { tenant: id }).catch(String))
      expect(new Set(await Promise.all(tries))).toEqual(new Set(['HoldfastError: this key may not name another tenant than its own']))
    })
  })
}
