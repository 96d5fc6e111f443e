/**
 * What API keys promise on every store, as runnable proofs.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import type { Role } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { createAuthenticator } from '../authenticate.ts'
import { createKeys } from '../keys.ts'
import { INVALID } from './laboratory.ts'
import type { Laboratory } from './laboratory.ts'

export function keysContract(name: string, laboratory: () => Promise<Laboratory>): void {
  describe(`${name} keeps API keys`, () => {
    test('a key is shown once, and no column of the database holds it', async () => {
      const { store, keys, admin, tenant, make } = await laboratory()
      const { key, record } = await make({ groups: ['red'], expires_in_seconds: 60 })
      expect(key).toMatch(/^hf_[\w-]{43}$/)
      expect(await keys.list(admin, null, 10)).toEqual([record])
      expect(record).toMatchObject({
        tenantId: tenant.id,
        subject: 'alice',
        groups: ['red'],
        role: 'member',
        kind: 'user',
        createdBy: 'boss',
      })
      expect(record).not.toHaveProperty('hash')
      const rows = await store.read(async (sql) => [
        ...(await sql.all('SELECT * FROM api_keys')),
        ...(await sql.all('SELECT * FROM audit')),
      ])
      expect(JSON.stringify(rows)).not.toContain(key.slice(3))
    })

    test('a key is its holder, in its tenant', async () => {
      const { authenticate, tenant, make } = await laboratory()
      const { key, record } = await make({ groups: ['red'], role: 'operator' })
      const principal = {
        ...{ tenantId: tenant.id, subject: 'alice', groups: ['red'], role: 'operator', kind: 'user', keyId: record.id, onBehalfOf: null },
      }
      expect(await authenticate(key)).toEqual(principal)
      expect(await authenticate(undefined, { authorization: `Bearer ${key}` })).toEqual(principal)
    })

    test('a key that is revoked while it is in use is refused from then on, also on its way through the memory', async () => {
      const { keys, admin, authenticate, make } = await laboratory()
      const { key, record } = await make()
      await authenticate(key)
      const racing = Array.from({ length: 20 }, () => authenticate(key))
      const revoked = keys.revoke(admin, record.id)
      await Promise.allSettled([...racing, ...Array.from({ length: 20 }, () => authenticate(key))])
      await revoked
      await expect(authenticate(key)).rejects.toMatchObject(INVALID)
    })

    test('another server follows a revocation within seconds', async () => {
      const { time, needs, keys, admin, tenants, make } = await laboratory()
      const { key, record } = await make()
      const other = createAuthenticator({ adminKey: { matches: () => false }, keys: createKeys(needs), tenants })
      await other({ authorization: undefined, apiKey: key })
      await keys.revoke(admin, record.id)
      time.now += 5000
      await expect(other({ authorization: undefined, apiKey: key })).rejects.toMatchObject(INVALID)
    })

    test('unknown, malformed, revoked and expired keys are refused in the same words', async () => {
      const { time, keys, admin, authenticate, make } = await laboratory()
      const expiring = await make({ expires_in_seconds: 2 })
      await authenticate(expiring.key)
      time.now += 1999
      await authenticate(expiring.key)
      time.now += 1
      const revoked = await make()
      await keys.revoke(admin, revoked.record.id)
      const refusals = [expiring.key, revoked.key, `hf_${'x'.repeat(43)}`, 'nonsense', '', `${revoked.key} `, 'x'.repeat(10_000)]
      const answers = await Promise.all(refusals.map((key) => authenticate(key).catch((error: unknown) => error)))
      for (const answer of answers) expect(answer).toMatchObject(INVALID)
      await expect(authenticate(undefined)).rejects.toMatchObject({ code: 'unauthorized' })
    })

    test('a key is revoked once: the first time stands, and the audit has one record', async () => {
      const { time, keys, admin, tenant, make, auditOf } = await laboratory()
      const { record } = await make()
      const first = await keys.revoke(admin, record.id)
      time.now += 10
      expect(await keys.revoke(admin, record.id)).toEqual(first)
      expect(first.revokedAt).toBe(time.now - 10)
      const audit = await auditOf(tenant.id)
      expect(audit.map(({ action }) => action)).toEqual(['tenant.create', 'key.create', 'key.revoke'])
      expect(audit[2]).toMatchObject({
        actor: { type: 'user', subject: 'boss', via: 'key_root' },
        resource: { type: 'api_key', id: record.id },
      })
    })

    test('a tenant’s keys are there for that tenant only, and what is elsewhere is as what is nowhere', async () => {
      const [here, there] = [await laboratory(), await laboratory()]
      const { key, record } = await there.make()
      expect(await here.keys.list(here.admin, null, 10)).toEqual([])
      for (const id of [record.id, 'key_0000000000000000']) {
        const refusal = { code: 'not_found', message: `there is no API key ${id}`, details: {} }
        await expect(here.keys.revoke(here.admin, id)).rejects.toMatchObject(refusal)
      }
      expect(await there.authenticate(key)).toMatchObject({ tenantId: there.tenant.id })
    })

    test.each<Role>(['viewer', 'member', 'operator'])('a %s manages no keys', async (role) => {
      const { keys, admin, make } = await laboratory()
      const { record } = await make()
      const principal = { ...admin, role }
      await expect(make({}, principal)).rejects.toMatchObject({ code: 'forbidden' })
      await expect(keys.list(principal, null, 10)).rejects.toMatchObject({ code: 'forbidden' })
      await expect(keys.revoke(principal, record.id)).rejects.toMatchObject({ code: 'forbidden' })
    })

    test('nobody makes or revokes a key with more power than its own', async () => {
      const { keys, admin, authenticate, make } = await laboratory()
      await expect(make({ role: 'platform_admin' })).rejects.toMatchObject({ code: 'forbidden' })
      const { key, record } = await make({ role: 'platform_admin' }, { ...admin, role: 'platform_admin' })
      await expect(keys.revoke(admin, record.id)).rejects.toMatchObject({ code: 'forbidden' })
      expect(await authenticate(key)).toMatchObject({ role: 'platform_admin' })
    })

    test('a list goes on where the page before ended', async () => {
      const { time, keys, admin, make } = await laboratory()
      const made: string[] = []
      for (let count = 0; count < 5; count += 1) {
        made.push((await make({ subject: `user-${count}` })).record.id)
        time.now += count % 2 // some of them in the same millisecond
      }
      const seen: string[] = []
      for (let page = await keys.list(admin, null, 2); page.length > 0; page = await keys.list(admin, page.at(-1) ?? null, 2))
        seen.push(...page.map(({ id }) => id))
      expect(seen.toSorted()).toEqual(made.toSorted())
    })
  })
}
