/** Which boxes of MCP servers are released. */
import { McpServerConfig } from '@holdfast/protocol/mcp'
import type { McpServerConfigInput } from '@holdfast/protocol/mcp'
import { expect, test } from 'vitest'
import { sampleSession } from '../../sessions/contract/sample-session.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { noSuchServer } from '../servers/mcp-servers.ts'
import type { McpServer } from '../servers/mcp-servers.ts'
import { ownSession } from './box-wish.ts'
import type { Shared } from './box-wish.ts'
import { createOwnBoxes } from './own-boxes.ts'

const config = (differs: Partial<McpServerConfigInput> = {}) => McpServerConfig.parse({ command: 'true', scope: 'tenant', ...differs })

function boxOf(server: string, shared: Shared, of = config()): SessionRow {
  const { key } = ownSession(server, shared, of, { mount: null })
  return sampleSession({ id: `${server} ${shared.pipeline ?? shared.scope}`, tenantId: 't', ...key })
}

async function releasedOf(boxes: readonly SessionRow[], servers: Readonly<Record<string, Partial<McpServer>>>): Promise<readonly string[]> {
  const released: string[] = []
  const own = createOwnBoxes({
    ...{ serverId: 's', log: jsonLog('error', () => undefined) },
    store: { read: async () => boxes } as unknown as Store,
    servers: {
      async get(tenantId, name) {
        const found = servers[name]
        if (found === undefined) throw noSuchServer(name)
        return { tenantId, name, config: config(), ...found } as McpServer
      },
    },
    pipelines: { has: async ({ name }) => name === 'here' },
    steering: {
      async release(_caller, id) {
        if (id.startsWith('stuck')) throw new Error('not now')
        released.push(id)
        return undefined as never
      },
    },
  })
  await own.release()
  return released
}

const TENANT = { scope: 'tenant', pipeline: null } as const
const pipeline = (name: string) => ({ scope: 'pipeline', pipeline: name }) as const

test('those whose server is gone, runs in conversations now, or is to have another box', async () => {
  const boxes = ['kept', 'gone', 'moved', 'other', 'foreign'].map((name) => boxOf(name, TENANT))
  const servers = {
    kept: {},
    moved: { config: config({ scope: 'session' }) },
    other: { config: config({ box: { memory_mb: 512 } }) },
    foreign: { tenantId: 'default' },
  }
  expect(await releasedOf(boxes, servers)).toEqual(['gone tenant', 'moved tenant', 'other tenant', 'foreign tenant'])
})

test('those of a pipeline that is gone, and one that cannot be released stands in nobody’s way', async () => {
  const shared = config({ scope: 'pipeline' })
  const boxes = [boxOf('stuck', TENANT), boxOf('piped', pipeline('here'), shared), boxOf('piped', pipeline('gone'), shared)]
  expect(await releasedOf(boxes, { piped: { config: shared } })).toEqual(['piped gone'])
})

test('what the owner of boxes has beside them is left alone', async () => {
  expect(await releasedOf([sampleSession({ tenantId: 't', key: 'something else' })], {})).toEqual([])
})
