/**
 * What the tables of MCP servers and of their runs promise, on every store, as runnable proofs.
 *
 * Stands beside the flow.
 */
import { TenantPolicy } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleSession } from '../../../sessions/contract/sample-session.ts'
import { migrate } from '../../migrate.ts'
import type { Store, Transaction } from '../../store.ts'
import { deleteMcpRun, findMcpRun, hostedMcpRuns, mcpRunsOfServer, putMcpRun } from '../mcp-runs.ts'
import type { McpRunRow } from '../mcp-runs.ts'
import { deleteMcpServer, findMcpServer, insertMcpServer, lockMcpServer, mcpServersOfTenant, updateMcpServer } from '../mcp-servers.ts'
import type { McpServerRow } from '../mcp-servers.ts'
import { renewServer } from '../servers.ts'
import { deleteClosedSession, insertSession } from '../sessions.ts'
import type { SessionRow } from '../sessions.ts'
import { insertTenant } from '../tenants.ts'

const TENANT = 'tnt_default'
const SERVERS = ['srv_0000000000000001', 'srv_0000000000000002']

export function mcpServersContract(kind: string, open: () => Promise<Store>): void {
  describe(`MCP servers on ${kind}`, () => {
    let store: Store
    beforeAll(async () => {
      store = await open()
      await migrate(store)
      await store.write(async (transaction) => {
        const policy = TenantPolicy.parse({})
        await insertTenant(transaction, { id: TENANT, name: 'default', state: 'active', policy, quotas: {}, version: 1, createdAt: 0 })
        for (const id of SERVERS) await renewServer(transaction, { id, url: null, now: 0, aliveUntil: 1 })
      })
    })
    afterAll(() => store.close())

    const write = <T>(work: (transaction: Transaction) => Promise<T>) => store.write(work)
    function server(name: string, differs: Partial<McpServerRow> = {}): McpServerRow {
      const times = { version: 1, createdAt: 5, updatedAt: 5 }
      return { tenantId: TENANT, name, scope: 'session', config: Buffer.from([0, 1, 255]), ...times, ...differs }
    }
    async function newSession(differs: Partial<SessionRow> = {}): Promise<SessionRow> {
      const row = sampleSession({ tenantId: TENANT, serverId: SERVERS[0] ?? '', ...differs })
      await write((transaction) => insertSession(transaction, row))
      return row
    }
    function run({ id }: SessionRow, name: string, differs: Partial<McpRunRow> = {}): McpRunRow {
      const key = { tenantId: TENANT, server: name, place: `session ${id}` }
      return { ...key, configuredAt: 5, sessionId: id, executionId: 'exe_1', handshake: null, startedAt: 6, readyAt: null, ...differs }
    }

    test('what is put comes back as it was, in the order of names', async () => {
      await write((transaction) => insertMcpServer(transaction, server('b', { scope: 'tenant' })))
      await write((transaction) => insertMcpServer(transaction, server('a')))
      const found = await store.read((sql) => findMcpServer(sql, TENANT, 'b'))
      expect({ ...found, config: [...(found?.config ?? [])] }).toEqual({ ...server('b', { scope: 'tenant' }), config: [0, 1, 255] })
      expect((await store.read((sql) => mcpServersOfTenant(sql, TENANT))).map(({ name }) => name)).toEqual(['a', 'b'])
      expect(await store.read((sql) => mcpServersOfTenant(sql, 'tnt_other'))).toEqual([])
      expect(await store.read((sql) => findMcpServer(sql, 'tnt_other', 'a'))).toBeNull()
    })

    test('a change is only in the place of the version that was read', async () => {
      await write((transaction) => insertMcpServer(transaction, server('changed')))
      const before = await write((transaction) => lockMcpServer(transaction, TENANT, 'changed'))
      if (before === null) throw new Error('it is not there')
      const after = { ...before, version: 2, updatedAt: 9, scope: 'tenant' as const }
      expect(await write((transaction) => updateMcpServer(transaction, before, after))).toBe(true)
      expect(await write((transaction) => updateMcpServer(transaction, before, after))).toBe(false)
      expect(await write((transaction) => deleteMcpServer(transaction, before))).toBe(false)
      expect(await write((transaction) => deleteMcpServer(transaction, after))).toBe(true)
      expect(await store.read((sql) => findMcpServer(sql, TENANT, 'changed'))).toBeNull()
    })

    test('a run comes back as it was, takes the place of the one before, and goes only with its own execution', async () => {
      const session = await newSession()
      const first = run(session, 'small')
      await write((transaction) => putMcpRun(transaction, first))
      const greeted = { ...first, executionId: 'exe_2', handshake: { era: 'legacy', capabilities: { tools: {} } }, readyAt: 7 }
      await write((transaction) => putMcpRun(transaction, greeted))
      expect(await store.read((sql) => findMcpRun(sql, first))).toEqual(greeted)
      await write((transaction) => deleteMcpRun(transaction, first, 'exe_1'))
      expect(await store.read((sql) => mcpRunsOfServer(sql, TENANT, 'small'))).toEqual([greeted])
      await write((transaction) => deleteMcpRun(transaction, first, 'exe_2'))
      expect(await store.read((sql) => findMcpRun(sql, first))).toBeNull()
    })

    test('runs are found by the server that hosts their session, and go with the session', async () => {
      const here = await newSession()
      const there = await newSession({ serverId: SERVERS[1] ?? '' })
      await write((transaction) => putMcpRun(transaction, run(here, 'hosted')))
      await write((transaction) => putMcpRun(transaction, run(there, 'hosted')))
      const hosted = await store.read((sql) => hostedMcpRuns(sql, SERVERS[1] ?? ''))
      expect(hosted.map(({ sessionId }) => sessionId)).toEqual([there.id])
      const closed = await newSession({ state: 'released' })
      await write((transaction) => putMcpRun(transaction, run(closed, 'purged')))
      await write((transaction) => deleteClosedSession(transaction, closed))
      expect(await store.read((sql) => mcpRunsOfServer(sql, TENANT, 'purged'))).toEqual([])
    })
  })
}
