/** Configurations of MCP servers that are remembered for the calls of tools. */
import { randomBytes } from 'node:crypto'
import { McpServerConfig } from '@holdfast/protocol/mcp'
import { expect, test } from 'vitest'
import { DEFAULT_TENANT_ID } from '../../access/principal.ts'
import { createTenants } from '../../access/tenants.ts'
import { createSealing } from '../../home/sealing.ts'
import { SYSTEM } from '../../sessions/caller.ts'
import { migrate } from '../../store/migrate.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import { createMcpServers } from './mcp-servers.ts'

const BY = { actor: SYSTEM }
const SHARED = DEFAULT_TENANT_ID
const config = (command: string, scope: McpServerConfig['scope'] = 'session') => McpServerConfig.parse({ command, scope })

async function twoServers() {
  const state = { now: 1_000 }
  const store = await openSqliteStore(':memory:')
  await migrate(store)
  await createTenants({ store, clock: () => state.now }).ensureDefaultTenant()
  const needs = {
    store,
    sealing: createSealing(randomBytes(32)),
    clock: () => state.now,
    sharedTenantId: SHARED,
    onChange: () => undefined,
  }
  return { state, here: createMcpServers(needs), elsewhere: createMcpServers(needs) }
}

const commandOf = async (asked: Promise<{ readonly config: McpServerConfig }>) => (await asked).config.command

test('what is changed or removed here counts with the next call', async () => {
  const { here } = await twoServers()
  await here.put(SHARED, { one: config('first', 'shared') }, BY)
  expect(await commandOf(here.recall(SHARED, 'one'))).toBe('first')
  expect(await commandOf(here.recall('tnt_other', 'one'))).toBe('first')
  await here.put(SHARED, { one: config('second', 'shared') }, BY)
  expect(await commandOf(here.recall(SHARED, 'one'))).toBe('second')
  expect(await commandOf(here.recall('tnt_other', 'one'))).toBe('second')
  await here.remove(SHARED, 'one', BY)
  await expect(here.recall('tnt_other', 'one')).rejects.toMatchObject({ code: 'not_found' })
})

test('what another server changes counts within some seconds, and at once for who reads it', async () => {
  const { state, here, elsewhere } = await twoServers()
  await here.put(SHARED, { one: config('first') }, BY)
  await here.recall(SHARED, 'one')
  await elsewhere.put(SHARED, { one: config('second') }, BY)
  expect([await commandOf(here.recall(SHARED, 'one')), await commandOf(here.get(SHARED, 'one'))]).toEqual(['first', 'second'])
  state.now += 5_000
  expect(await commandOf(here.recall(SHARED, 'one'))).toBe('second')
})
