/** What stored profiles and pipelines promise over REST, on every store. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SessionRecord } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Store } from '../../../store/store.ts'
import { openLaboratory } from './laboratory.ts'
import type { Laboratory, Sending } from './laboratory.ts'

const FILE = `
profiles:
  fixed: { network: off }
pipelines:
  configured: { scope: '{sender_id}', profile: fixed, skills: [pdf] }
`

export function definitionsContract(name: string, openStore: () => Promise<Store>): void {
  describe(`${name}: stored profiles and pipelines`, () => {
    let laboratory: Laboratory
    let directory: string
    const keys = { tenantAdmin: '', member: '', foreignAdmin: '' }
    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'holdfast-definitions-'))
      writeFileSync(join(directory, 'holdfast.yaml'), FILE)
      laboratory = await openLaboratory({ HOLDFAST_CONFIG: join(directory, 'holdfast.yaml') }, openStore)
      const { plane, admin, keyOf } = laboratory
      const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
      const other = await plane.tenants.create(admin, { name: 'other', policy, quotas: { profiles: 2, pipelines: 1 } })
      keys.tenantAdmin = await keyOf({ subject: 'tina', role: 'tenant_admin' })
      keys.member = await keyOf({ subject: 'mia' })
      keys.foreignAdmin = await keyOf({ subject: 'fred', role: 'tenant_admin' }, other.id)
    })
    afterAll(async () => {
      await laboratory.close()
      rmSync(directory, { recursive: true, force: true })
    })

    const post = (path: string, body: object, sending: Sending = {}) => laboratory.post(path, body, { key: keys.tenantAdmin, ...sending })
    const put = (path: string, version: number, body: object, key = keys.tenantAdmin) =>
      laboratory.send(path, { method: 'PUT', body, key, headers: { 'if-match': `"${version}"` } })
    const remove = (path: string, key = keys.tenantAdmin) => laboratory.send(path, { method: 'DELETE', key })
    const namesIn = ({ body }: { readonly body: Record<string, unknown> }) => (body['items'] as { name: string }[]).map((item) => item.name)
    const session = async (body: object) => SessionRecord.parse((await post('/v1/sessions', body, { key: keys.member })).body)

    test('a profile is created, read with its ETag, replaced on its version and removed', async () => {
      const made = await post('/v1/profiles', { name: 'small', network: 'on', limits: { memory_bytes: 2 ** 28 }, timeout_ms: 5000 })
      expect(made).toMatchObject({
        status: 201,
        headers: { etag: '"1"', location: '/v1/profiles/small' },
        body: { name: 'small', source: 'tenant', read_only: false, version: 1, network: 'on', timeout_ms: 5000, usable: true },
      })
      const read = await laboratory.send('/v1/profiles/small', { key: keys.member })
      expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' }, body: { limits: { memory_bytes: 2 ** 28, pids: 128 } } })
      expect(await put('/v1/profiles/small', 1, { network: 'off' })).toMatchObject({
        ...{ status: 200, headers: { etag: '"2"' }, body: { network: 'off', version: 2, limits: { memory_bytes: 2 ** 29 } } },
      })
      expect(await put('/v1/profiles/small', 1, {})).toMatchObject({
        status: 409,
        body: { code: 'version_conflict', details: { version: 2 } },
      })
      expect(await laboratory.send('/v1/profiles/small', { method: 'PUT', body: {}, key: keys.tenantAdmin })).toMatchObject({ status: 428 })
      expect(await remove('/v1/profiles/small')).toMatchObject({ status: 204 })
      expect(await laboratory.send('/v1/profiles/small', { key: keys.member })).toMatchObject({ status: 404 })
      expect(await put('/v1/profiles/small', 2, {})).toMatchObject({ status: 404 })
    })

    test('a change applies to sessions made later; a session keeps its values and shows the version', async () => {
      await post('/v1/profiles', { name: 'kept', network: 'on', max_timeout_ms: 60_000 })
      await post('/v1/pipelines', { name: 'chats', scope: '{sender_id}', profile: 'kept', skills: ['pdf'] })
      const first = await session({ pipeline: 'chats', variables: { sender_id: 'first' } })
      expect(first).toMatchObject({
        key: 'first',
        profile: 'kept',
        profile_version: 1,
        network: 'on',
        max_timeout_ms: 60_000,
        skills: ['pdf'],
      })
      expect(await put('/v1/profiles/kept', 1, { network: 'off' })).toMatchObject({ status: 200 })
      expect(await put('/v1/pipelines/chats', 1, { scope: '{sender_id}', profile: 'kept' })).toMatchObject({ status: 200 })
      const { body } = await laboratory.send(`/v1/sessions/${first.id}`, { key: keys.member })
      expect(body).toMatchObject({ profile_version: 1, network: 'on', skills: ['pdf'] })
      const second = await session({ pipeline: 'chats', variables: { sender_id: 'second' } })
      expect(second).toMatchObject({ profile: 'kept', profile_version: 2, network: 'off', max_timeout_ms: 120_000, skills: [] })
    })

    test('a profile that a pipeline names is not removed; once it is, its sessions live on and new ones are refused', async () => {
      await post('/v1/profiles', { name: 'leaving' })
      await post('/v1/pipelines', { name: 'leaver', profile: 'leaving' })
      expect(await remove('/v1/profiles/leaving')).toMatchObject({
        ...{ status: 409, body: { code: 'profile_in_use', details: { profile: 'leaving', pipelines: ['leaver'] } } },
      })
      const { id } = await session({ key: 'stays', profile: 'leaving' })
      expect(await remove('/v1/pipelines/leaver')).toMatchObject({ status: 204 })
      expect(await remove('/v1/profiles/leaving')).toMatchObject({ status: 204 })
      expect(await session({ key: 'stays', profile: 'leaving' })).toMatchObject({ id })
      expect(await post('/v1/sessions', { key: 'new', profile: 'leaving' })).toMatchObject({
        status: 400,
        body: { code: 'profile_unknown' },
      })
    })

    test('what is built in or configured is read-only, and says so in the list, when read, and when written', async () => {
      const { body } = await laboratory.send('/v1/profiles', { key: keys.member })
      const items = body['items'] as { name: string }[]
      expect(items.find((item) => item.name === 'default')).toMatchObject({ source: 'built-in', read_only: true })
      expect(items.find((item) => item.name === 'fixed')).toMatchObject({ source: 'configuration', read_only: true })
      expect(await laboratory.send('/v1/profiles/fixed', { key: keys.member })).toMatchObject({ body: { read_only: true, version: null } })
      const refused = {
        status: 409,
        body: { code: 'read_only', title: expect.stringContaining('comes from the configuration file and is read-only') },
      }
      expect(await post('/v1/profiles', { name: 'fixed' })).toMatchObject(refused)
      expect(await put('/v1/profiles/fixed', 1, {})).toMatchObject(refused)
      expect(await remove('/v1/profiles/fixed')).toMatchObject(refused)
      for (const answer of [
        await post('/v1/pipelines', { name: 'configured' }),
        await put('/v1/pipelines/configured', 1, {}),
        await remove('/v1/pipelines/configured'),
      ])
        expect(answer).toMatchObject(refused)
      expect(await remove('/v1/profiles/default')).toMatchObject({ status: 409, body: { title: expect.stringContaining('is built in') } })
    })

    test('only who may set policy loosens a locked field, by a value, by unlocking it or by removing the profile', async () => {
      const locked = { network: 'off', limits: { memory_bytes: 2 ** 28 }, locked: ['network', 'limits.memory_bytes'] }
      await post('/v1/profiles', { name: 'strict', ...locked })
      const refused = (fields: string[]) => ({ status: 403, body: { code: 'forbidden', details: { profile: 'strict', fields } } })
      expect(await put('/v1/profiles/strict', 1, { ...locked, network: 'on' })).toMatchObject(refused(['network']))
      expect(await put('/v1/profiles/strict', 1, { ...locked, limits: { memory_bytes: 2 ** 29 } })).toMatchObject(
        refused(['limits.memory_bytes']),
      )
      expect(await put('/v1/profiles/strict', 1, { ...locked, locked: ['network'] })).toMatchObject(refused(['limits.memory_bytes']))
      expect(await remove('/v1/profiles/strict')).toMatchObject(refused(['network', 'limits.memory_bytes']))
      const tighter = { ...locked, limits: { memory_bytes: 2 ** 27 }, locked: [...locked.locked, 'rootfs'] }
      expect(await put('/v1/profiles/strict', 1, tighter)).toMatchObject({ status: 200 })
      const asPlatform = { method: 'PUT', body: { network: 'on' }, headers: { 'if-match': '"2"' } }
      expect(await laboratory.send('/v1/profiles/strict', asPlatform)).toMatchObject({ status: 200, body: { network: 'on', locked: [] } })
      expect(await remove('/v1/profiles/strict')).toMatchObject({ status: 204 })
    })

    test('a tenant has its own names, and sees nothing of another’s', async () => {
      expect(await post('/v1/profiles', { name: 'mine', network: 'on' })).toMatchObject({ status: 201 })
      expect(await laboratory.send('/v1/profiles/mine', { key: keys.foreignAdmin })).toMatchObject({ status: 404 })
      expect(namesIn(await laboratory.send('/v1/profiles', { key: keys.foreignAdmin }))).not.toContain('mine')
      const foreign = { key: keys.foreignAdmin }
      expect(await post('/v1/sessions', { key: 'theirs', profile: 'mine' }, foreign)).toMatchObject({ body: { code: 'profile_unknown' } })
      expect(await post('/v1/pipelines', { name: 'theirs', profile: 'mine' }, foreign)).toMatchObject({ body: { code: 'profile_unknown' } })
      expect(await remove('/v1/profiles/mine', keys.foreignAdmin)).toMatchObject({ status: 404 })
      expect(await post('/v1/profiles', { name: 'mine', network: 'off' }, foreign)).toMatchObject({ status: 201, body: { network: 'off' } })
    })

    test('the tenant’s quota bounds how many there are, and GET /v1/quotas counts them', async () => {
      const foreign = { key: keys.foreignAdmin }
      expect(await post('/v1/profiles', { name: 'second' }, foreign)).toMatchObject({ status: 201 })
      const refused = {
        status: 429,
        body: { code: 'quota_exceeded', details: { quota: 'profiles', limit: 2, setting: 'quotas.profiles' } },
      }
      expect(await post('/v1/profiles', { name: 'third' }, foreign)).toMatchObject(refused)
      expect(await laboratory.send('/v1/profiles/third', foreign)).toMatchObject({ status: 404 })
      const { body } = await laboratory.send('/v1/quotas', foreign)
      expect(body['items']).toContainEqual({ quota: 'profiles', limit: 2, used: 2 })
    })

    test('a name that is taken, and wrong values are refused by their field', async () => {
      await post('/v1/profiles', { name: 'twice' })
      expect(await post('/v1/profiles', { name: 'twice' })).toMatchObject({ status: 409, body: { code: 'name_taken' } })
      for (const [path, body, field] of [
        ['/v1/profiles', { name: 'No Name' }, 'name'],
        ['/v1/profiles', { name: 'x', timeout_ms: 2000, max_timeout_ms: 1000 }, 'max_timeout_ms'],
        ['/v1/profiles', { name: 'x', limits: { memory_bytes: 1 } }, 'limits.memory_bytes'],
        ['/v1/profiles', { name: 'x', locked: ['colour'] }, 'locked.0'],
        ['/v1/profiles', { name: 'x', colour: 'red' }, 'colour'],
        ['/v1/pipelines', { name: 'x', scope: 'chta' }, 'scope'],
        ['/v1/pipelines', { name: 'x', skills: [''] }, 'skills.0'],
      ] as const)
        expect(await post(path, body), JSON.stringify(body)).toMatchObject({ status: 400, body: { details: { problems: [{ field }] } } })
      expect(await post('/v1/pipelines', { name: 'x', scope: '{broken' })).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    })

    test('a repeated POST with its Idempotency-Key creates one', async () => {
      const sending = { headers: { 'idempotency-key': 'profile-once' } }
      const [first, again] = [await post('/v1/profiles', { name: 'once' }, sending), await post('/v1/profiles', { name: 'once' }, sending)]
      expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
    })

    test('lists come in pages: read-only ones first, then the stored ones by name', async () => {
      for (const path of ['/v1/profiles', '/v1/pipelines']) {
        const all = namesIn(await laboratory.send(`${path}?page_size=200`, { key: keys.member }))
        const paged: string[] = []
        for (let token = ''; token !== 'null';) {
          const page = await laboratory.send(`${path}?page_size=2${token === '' ? '' : `&page_token=${token}`}`, { key: keys.member })
          paged.push(...namesIn(page))
          token = page.field('next_page_token')
        }
        expect(paged, path).toEqual(all)
      }
    })

    test('members change nothing, and every change is in the audit by name and version', async () => {
      for (const path of ['/v1/profiles', '/v1/pipelines'])
        expect(await post(path, { name: 'theirs' }, { key: keys.member })).toMatchObject({ status: 403 })
      await post('/v1/profiles', { name: 'audited' })
      await put('/v1/profiles/audited', 1, {})
      await remove('/v1/profiles/audited')
      const { body } = await laboratory.send('/v1/audit?page_size=200', { key: keys.tenantAdmin })
      const records = (body['items'] as { action: string; resource: { id: string } }[]).filter(({ resource }) => resource.id === 'audited')
      expect(new Set(records.map(({ action }) => action))).toEqual(new Set(['profile.create', 'profile.update', 'profile.remove']))
    })
  })
}
