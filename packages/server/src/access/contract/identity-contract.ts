/**
 * Who may speak for whom: what a service key may name, and which keys an administrator may not make, on every store.
 */
import type { CreateKeyBodyInput } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { sampleSession } from '../../sessions/contract/sample-session.ts'
import { insertSession } from '../../store/tables/sessions.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import type { Laboratory } from './laboratory.ts'
import { PLATFORM } from './laboratory.ts'

export function identityContract(name: string, laboratory: () => Promise<Laboratory>): void {
  const FORBIDDEN = { code: 'forbidden' }

  describe(`${name} lets a service key speak only for its users`, () => {
    test('speaks for users and groups below its own name, so two programs with the same user names do not meet', async () => {
      const { make, authenticate } = await laboratory()
      const [one, two] = [await make({ kind: 'service', subject: 'chat' }), await make({ kind: 'service', subject: 'mail' })]
      expect(one.record.users).toEqual({ own: true })
      expect(await authenticate(one.key, { onBehalfOf: 'alice', onBehalfOfGroups: 'red' })).toMatchObject({
        ...{ subject: 'chat/alice', groups: ['chat/red'], onBehalfOf: 'chat/alice' },
      })
      expect(await authenticate(two.key, { onBehalfOf: 'alice' })).toMatchObject({ subject: 'mail/alice', groups: [] })
    })

    test('two keys meet where both say so: the same name, or the same list', async () => {
      const { make, authenticate, tenant } = await laboratory()
      const platform = { ...PLATFORM, tenantId: tenant.id }
      const one = await make({ kind: 'service', subject: 'chat' }, platform)
      const again = await make({ kind: 'service', subject: 'chat' }, platform)
      const named = await make({ kind: 'service', subject: 'mail', users: { list: ['chat/alice'] } }, platform)
      const subjects = await Promise.all([
        authenticate(one.key, { onBehalfOf: 'alice' }),
        authenticate(again.key, { onBehalfOf: 'alice' }),
        authenticate(named.key, { onBehalfOf: 'chat/alice' }),
      ])
      expect(new Set(subjects.map(({ subject }) => subject))).toEqual(new Set(['chat/alice']))
    })

    test('speaks for a list or a prefix as it is written, and for nobody else', async () => {
      const { make, authenticate } = await laboratory()
      const list = await make({ kind: 'service', subject: 'chat', users: { list: ['alice', 'bob'] }, groups: ['red'] })
      expect(await authenticate(list.key, { onBehalfOf: 'bob', onBehalfOfGroups: 'red' })).toMatchObject({
        subject: 'bob',
        groups: ['red'],
      })
      await expect(authenticate(list.key, { onBehalfOf: 'carol' })).rejects.toMatchObject(FORBIDDEN)
      await expect(authenticate(list.key, { onBehalfOf: 'bob', onBehalfOfGroups: 'blue' })).rejects.toMatchObject(FORBIDDEN)
      const prefix = await make({ kind: 'service', subject: 'crm', users: { prefix: 'crm:' } })
      const crm = { onBehalfOf: 'crm:7', onBehalfOfGroups: 'crm:sales' }
      expect(await authenticate(prefix.key, crm)).toMatchObject({ subject: 'crm:7', groups: ['crm:sales'] })
      for (const onBehalfOf of ['alice', 'crm', 'CRM:7'])
        await expect(authenticate(prefix.key, { onBehalfOf })).rejects.toMatchObject(FORBIDDEN)
    })

    test('a key made before keeps its users, but is neither the administrator nor anybody of the identity provider', async () => {
      const { store, make, authenticate } = await laboratory()
      const { key, record } = await make({ kind: 'service', subject: 'bot' })
      await store.write((transaction) => transaction.run(`UPDATE api_keys SET users = '{"any":true}' WHERE id = ?`, record.id))
      expect(await authenticate(key, { onBehalfOf: 'alice', onBehalfOfGroups: 'red' })).toMatchObject({
        subject: 'alice',
        groups: ['red'],
      })
      for (const onBehalfOf of ['admin', 'oidc:alice', 'oidc:'])
        await expect(authenticate(key, { onBehalfOf })).rejects.toMatchObject(FORBIDDEN)
      await expect(authenticate(key, { onBehalfOf: 'alice', onBehalfOfGroups: 'oidc:staff' })).rejects.toMatchObject(FORBIDDEN)
    })

    test('a name that becomes too long below the key is not valid, rather than cut', async () => {
      const { make, authenticate } = await laboratory()
      const { key } = await make({ kind: 'service', subject: 'bot' })
      await expect(authenticate(key, { onBehalfOf: 'x'.repeat(252) })).rejects.toMatchObject({ code: 'invalid_request' })
    })
  })

  describe(`${name} keeps an administrator without admin_exec from making a key to others’ work`, () => {
    async function withSessions() {
      const opened = await laboratory()
      const { store, tenant } = opened
      const own = (row: Partial<SessionRow>) =>
        store.write((transaction) =>
          insertSession(transaction, sampleSession({ tenantId: tenant.id, serverId: null, sandboxId: null, ...row })),
        )
      await own({ id: `ses_a${tenant.id}`, owner: 'alice', keyHash: 'a' })
      await own({ id: `ses_b${tenant.id}`, owner: 'bob', ownerGroup: 'team', keyHash: 'b' })
      await own({ id: `ses_c${tenant.id}`, owner: 'chat/carol', keyHash: 'c' })
      return { ...opened, platform: { ...PLATFORM, tenantId: tenant.id } }
    }

    test.each<[string, Partial<CreateKeyBodyInput>]>([
      ['for an owner of sessions', { subject: 'alice' }],
      ['in a group that owns sessions', { subject: 'adam', groups: ['team'] }],
      ['of a service that speaks for one', { subject: 'tool', kind: 'service', users: { list: ['alice'] } }],
      ['of a service with a prefix of one', { subject: 'tool', kind: 'service', users: { prefix: 'al' } }],
      ['of a service whose users are there already', { subject: 'chat', kind: 'service' }],
      ['for somebody of the identity provider', { subject: 'oidc:dora' }],
      ['in a group of the identity provider', { subject: 'adam', groups: ['oidc:staff'] }],
      ['for the administrator of the installation', { subject: 'admin' }],
      ['for a workspace of LangBot', { subject: 'langbot:one' }],
    ])('a key %s', async (_, wish) => {
      const { make, admin, platform, auditOf, tenant, tenants } = await withSessions()
      await expect(make(wish, admin)).rejects.toMatchObject(FORBIDDEN)
      expect((await auditOf(tenant.id)).at(-1)).toMatchObject({ action: 'key.create', decision: 'deny', actor: { subject: 'boss' } })
      const { record } = await make(wish, platform)
      expect((await auditOf(tenant.id)).at(-1)).toMatchObject({ action: 'key.create', decision: 'allow', resource: { id: record.id } })
      await tenants.setPolicy(platform, tenant.id, 1, { ...tenant.policy, admin_exec: true })
      const again = make(wish, admin).then(
        () => 'made',
        () => 'refused',
      )
      expect(await again).toBe(wish.subject === 'admin' ? 'refused' : 'made')
    })

    test('a second key for one who has a key, and one for whom a service speaks', async () => {
      const { make, admin } = await laboratory()
      await make({ subject: 'dora' })
      await expect(make({ subject: 'dora' })).rejects.toMatchObject(FORBIDDEN)
      await make({ subject: 'shop', kind: 'service' })
      await expect(make({ subject: 'shop/eve' })).rejects.toMatchObject(FORBIDDEN)
      await make({ subject: 'boss', role: 'tenant_admin' }, admin)
      await make({ subject: 'boss' }, admin)
    })

    test('a revoked key without sessions is in nobody’s way', async () => {
      const { make, keys, admin } = await laboratory()
      await keys.revoke(admin, (await make({ subject: 'dora' })).record.id)
      await make({ subject: 'dora' })
    })

    test('only a platform administrator says who may look: not the administrator of the tenant', async () => {
      const { tenants, tenant, admin } = await laboratory()
      const policy = { ...tenant.policy, admin_exec: true }
      await expect(tenants.setPolicy(admin, tenant.id, 1, policy)).rejects.toMatchObject(FORBIDDEN)
    })
  })
}
