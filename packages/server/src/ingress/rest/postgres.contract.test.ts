/** The door on a real PostgreSQL: repeated requests, and the questions that only it asks. */
import { describe, expect, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../../test/servers/database.ts'
import { newPostgresDatabase } from '../../../../../test/environment/shared-postgres.ts'
import { openPostgresStore } from '../../store/postgres/postgres-store.ts'
import { definitionsContract } from './contract/definitions-contract.ts'
import { idempotencyContract } from './contract/idempotency-contract.ts'
import { openLaboratory } from './contract/laboratory.ts'

if (noPostgres === null) {
  idempotencyContract('PostgreSQL', openPostgresStoreForTest)
  definitionsContract('PostgreSQL', openPostgresStoreForTest)
  describe('on PostgreSQL', () => {
    test('lists, filters and pages are the same', listsArePaged)
    test('a profile that one server changes counts on another one without a restart', changesAreSeenElsewhere)
  })
} else describe('PostgreSQL', () => test.skip(`keeps what the door promises (skipped: ${noPostgres})`))

async function listsArePaged(): Promise<void> {
  const laboratory = await openLaboratory({}, openPostgresStoreForTest)
  try {
    const key = await laboratory.keyOf({ subject: 'ada' })
    for (const name of ['a', 'b', 'c']) await laboratory.post('/v1/sessions', { key: name, wait_ms: 9000 }, { key })
    for (const path of ['/v1/sessions', '/v1/sandboxes', '/v1/audit', '/v1/keys', '/v1/tenants']) {
      const all = (await laboratory.send(`${path}?page_size=200`)).body['items']
      const paged: unknown[] = []
      for (let token = ''; token !== 'null';) {
        const page = await laboratory.send(`${path}?page_size=2${token === '' ? '' : `&page_token=${token}`}`)
        paged.push(...(page.body['items'] as unknown[]))
        token = page.field('next_page_token')
      }
      expect(paged, path).toEqual(all)
    }
    expect((await laboratory.send('/v1/sessions?key=b&state=idle,active', { key })).body['items']).toHaveLength(1)
    expect((await laboratory.send('/v1/audit?page_size=200', { key })).text).not.toContain('key.create')
    const once = { key, headers: { 'idempotency-key': 'once' } }
    const ran = await laboratory.post('/v1/exec', { session: 'a', command: 'echo $$', cwd: '/' }, once)
    expect(await laboratory.post('/v1/exec', { session: 'a', command: 'echo $$', cwd: '/' }, once)).toMatchObject({ text: ran.text })
  } finally {
    await laboratory.close()
  }
}

async function changesAreSeenElsewhere(): Promise<void> {
  const { stop, ...address } = await newPostgresDatabase()
  const here = await openLaboratory({}, () => openPostgresStore(address))
  const elsewhere = await openLaboratory({}, () => openPostgresStore(address))
  try {
    const session = async (key: string) => (await elsewhere.post('/v1/sessions', { key, profile: 'shared' })).body['profile_version']
    const { tenantId } = elsewhere.admin
    const version = async () => (await elsewhere.plane.profiles.choose(tenantId, 'shared')).version
    await here.post('/v1/profiles', { name: 'shared', network: 'off' })
    expect(await session('first')).toBe(1)
    await here.send('/v1/profiles/shared', { method: 'PUT', body: { network: 'on' }, headers: { 'if-match': '"1"' } })
    await expect.poll(version).toBe(2)
    expect(await session('second')).toBe(2)
  } finally {
    await elsewhere.close()
    await here.close()
    await stop()
  }
}
