/** MCP servers whose configuration changes while somebody asks for them. */
import { McpServerConfig } from '@holdfast/protocol/mcp'
import { expect, test } from 'vitest'
import { SYSTEM } from '../../sessions/caller.ts'
import type { Caller } from '../../sessions/caller.ts'
import { migrate } from '../../store/migrate.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import { jsonLog } from '../../telemetry/log.ts'
import type { McpServer } from '../servers/mcp-servers.ts'
import { noSuchServer } from '../servers/mcp-servers.ts'
import { createMcpRuns } from './mcp-runs.ts'

const config = McpServerConfig.parse({ command: 'true', scope: 'tenant' })
const server: McpServer = { tenantId: 't', name: 'notes', scope: 'tenant', config, version: 1, createdAt: 1, updatedAt: 1 }
const caller = { actor: SYSTEM, visibility: { tenantId: 't', owner: null, groups: [] } } as unknown as Caller

test('one that is removed while its place is looked for is not started', async () => {
  const store = await openSqliteStore(':memory:')
  await migrate(store)
  let isThere = true
  let launches = 0
  const none = () => Promise.reject(new Error('nothing is asked for'))
  const runs = createMcpRuns({
    ...{ store, serverId: 's', clock: Date.now, log: jsonLog('error') },
    servers: { get: async () => (isThere ? server : Promise.reject(noSuchServer('notes'))) },
    sessions: { reads: {}, processes: {}, pidOf: none, endLeftBehind: none } as never,
    async placeOf() {
      isThere = false
      return { scope: 'tenant', place: 'tenant', scopeKey: 'tenant', session: null, pipeline: null }
    },
    launching: {
      launch() {
        launches += 1
        return none()
      },
      takeUp: none,
    },
  })
  const asked = runs.open({ caller, name: 'notes', target: null, pipeline: undefined }, new AbortController().signal)
  await expect(asked).rejects.toMatchObject({ code: 'not_found' })
  expect([launches, runs.of(server)]).toEqual([0, []])
  runs.close()
  await store.close()
})
