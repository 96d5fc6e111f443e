/** Definitions that several servers on one database keep in memory. */
import { PipelineSettings, TenantPolicy } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { loadConfig } from '../../config.ts'
import { SYSTEM } from '../../sessions/caller.ts'
import { migrate } from '../../store/migrate.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import { insertTenant } from '../../store/tables/tenants.ts'
import { createDefinitionCache } from './definition-cache.ts'
import { createDefinitions } from './definitions.ts'

const BY = { actor: SYSTEM }
const ONE = { tenantId: 'tnt_a', name: 'one' }

async function twoServers() {
  const database = await openSqliteStore(':memory:')
  await migrate(database)
  const tenant = {
    id: ONE.tenantId,
    name: 'a',
    state: 'active',
    policy: TenantPolicy.parse({}),
    quotas: {},
    version: 1,
    createdAt: 0,
  } as const
  await database.write((transaction) => insertTenant(transaction, tenant))
  let reads = 0
  let isDown = false
  const store: Store = {
    ...database,
    read(work) {
      reads += 1
      return isDown ? Promise.reject(new Error('the store is down')) : database.read(work)
    },
  }
  const server = () => {
    const cache = createDefinitionCache(store)
    const { quotas } = loadConfig({}, {})
    return { cache, ...createDefinitions({ store, cache, clock: Date.now, kind: 'pipeline', schema: PipelineSettings, quotas }) }
  }
  return { here: server(), elsewhere: server(), reads: () => reads, stop: () => (isDown = true) }
}

test('a warm request asks the store nothing, and a change here counts at once', async () => {
  const { here, reads } = await twoServers()
  await here.create(ONE, { scope: 'chat' }, BY)
  expect(await here.recall(ONE)).toMatchObject({ settings: { scope: 'chat' }, version: 1 })
  const before = reads()
  await here.recall(ONE)
  expect(reads()).toBe(before)
  await here.replace(ONE, { scope: 'user' }, 1, BY)
  expect(await here.recall(ONE)).toMatchObject({ settings: { scope: 'user' }, version: 2 })
  await here.remove(ONE, undefined, BY)
  expect(await here.recall(ONE)).toBeNull()
})

test('a change on another server counts after the next poll, and an unchanged counter drops nothing', async () => {
  const { here, elsewhere, reads } = await twoServers()
  await here.create(ONE, { scope: 'chat' }, BY)
  await elsewhere.cache.poll()
  await elsewhere.recall(ONE)
  await elsewhere.cache.poll()
  const before = reads()
  expect(await elsewhere.recall(ONE)).toMatchObject({ version: 1 })
  expect(reads()).toBe(before)
  await here.replace(ONE, { scope: 'user' }, 1, BY)
  await elsewhere.cache.poll()
  expect(await elsewhere.recall(ONE)).toMatchObject({ settings: { scope: 'user' }, version: 2 })
  await here.remove(ONE, 2, BY)
  await elsewhere.cache.poll()
  expect(await elsewhere.recall(ONE)).toBeNull()
})

test('while the counter cannot be read nothing is kept', async () => {
  const { here, elsewhere, stop } = await twoServers()
  await here.create(ONE, { scope: 'chat' }, BY)
  await elsewhere.recall(ONE)
  stop()
  await elsewhere.cache.poll()
  await expect(elsewhere.recall(ONE)).rejects.toThrow('the store is down')
})
