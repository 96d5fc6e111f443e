/**
 * What the table of executions promises about names, later input and terminals, on every store, as runnable proofs.
 *
 * Stands beside the flow.
 */
import { TenantPolicy } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomId } from '../../../home/random-id.ts'
import { sampleSession } from '../../../sessions/contract/sample-session.ts'
import { migrate } from '../../migrate.ts'
import type { Store } from '../../store.ts'
import { attendedExecutions, inputOf, isAttended, noteAttended, noteInput } from '../execution-input.ts'
import { deleteExecutions, endExecution, executionsKnown, insertExecution } from '../executions.ts'
import type { ExecutionRow } from '../executions.ts'
import { findProcess, listEndedProcesses, listProcesses, oldProcesses } from '../processes.ts'
import { renewServer } from '../servers.ts'
import { insertSession } from '../sessions.ts'
import type { SessionRow } from '../sessions.ts'
import { insertTenant } from '../tenants.ts'

const TENANT = 'tnt_default'
const SERVERS = ['srv_0000000000000001', 'srv_0000000000000002']

export function executionNamesContract(kind: string, open: () => Promise<Store>): void {
  describe(`executions on ${kind}`, () => {
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

    async function newSession(serverId = SERVERS[0] ?? '', differs: Partial<SessionRow> = {}): Promise<SessionRow> {
      const row = sampleSession({ tenantId: TENANT, serverId, ...differs })
      await store.write((transaction) => insertSession(transaction, row))
      return row
    }
    async function newExecution(session: SessionRow, differs: Partial<ExecutionRow> = {}): Promise<string> {
      const id = randomId('exe')
      const row: ExecutionRow = {
        ...{ id, sessionId: session.id, tenantId: TENANT, sandboxId: 'sbx_1', incarnation: 1, kind: 'command', name: null, actor: 'alice' },
        ...{ timeoutMs: null, status: 'completed', exitCode: 0, signal: null, cancelAt: null, startedAt: 0, endedAt: 1, durationMs: 1 },
        ...{ outputSeq: 0, ...differs },
      }
      expect(await store.write((transaction) => insertExecution(transaction, row))).toBe(true)
      return row.id
    }

    test('of each name the newest is listed, newest first, and nothing of another session or tenant', async () => {
      const [own, other] = [await newSession(), await newSession()]
      const named = (name: string, startedAt: number, id?: string) =>
        newExecution(own, { kind: 'process', name, startedAt, ...(id === undefined ? {} : { id }) })
      await named('a', 1)
      const newestA = await named('a', 5)
      await named('a', 3)
      // Of two that began at once the later id counts.
      await named('b', 4, 'exe_same_time_1')
      const newestB = await named('b', 4, 'exe_same_time_2')
      await newExecution(own, { startedAt: 9 })
      await newExecution(other, { kind: 'process', name: 'a', startedAt: 9 })
      const ids = async (limit: number, tenantId = TENANT) =>
        (await store.read((sql) => listProcesses(sql, { id: own.id, tenantId }, limit))).map(({ id }) => id)
      expect(await ids(10)).toEqual([newestA, newestB])
      expect(await ids(1)).toEqual([newestA])
      expect(await ids(10, 'tnt_other')).toEqual([])
      const found = (name: string, tenantId = TENANT) => store.read((sql) => findProcess(sql, { id: own.id, tenantId }, name))
      expect(await found('a')).toMatchObject({ id: newestA })
      expect(await found('b')).toMatchObject({ id: newestB })
      expect(await found('c')).toBeNull()
      expect(await found('a', 'tnt_other')).toBeNull()
    })

    test('those that ended by themselves are listed over sessions with a label, the last to end first', async () => {
      const labels = { door: 'one' }
      const own = await newSession(SERVERS[0], { labels, owner: 'ann' })
      const second = await newSession(SERVERS[1], { labels, owner: 'ben' })
      const over = await newSession(SERVERS[0], { labels, state: 'released' })
      const other = await newSession(SERVERS[0], { labels: { door: 'two' } })
      const ended = (session: SessionRow, name: string, endedAt: number, differs: Partial<ExecutionRow> = {}) =>
        newExecution(session, { kind: 'process', name, endedAt, ...differs })
      await ended(own, 'a', 20)
      const newestA = await ended(own, 'a', 15, { startedAt: 1 })
      const b = await ended(second, 'a', 16)
      const early = await ended(own, 'early', 10)
      await ended(own, 'stopped', 30, { cancelAt: 29 })
      await ended(own, 'never', 30, { status: 'not_started' })
      await ended(own, 'again', 30)
      await ended(own, 'again', 0, { startedAt: 2, status: 'running', endedAt: null, exitCode: null })
      await newExecution(own, { endedAt: 30 })
      for (const elsewhere of [over, other]) await ended(elsewhere, 'a', 30)
      const visible = { tenantId: TENANT, owner: null, groups: [] }
      const listed = (limit: number, differs: { endedAfter?: number; owner?: string; tenantId?: string } = {}) => {
        const { endedAfter = 0, ...whose } = differs
        const filter = { label: { name: 'door', value: 'one' }, endedAfter }
        return store.read((sql) => listEndedProcesses(sql, { ...visible, ...whose }, filter, limit))
      }
      expect(await listed(10)).toEqual([b, newestA, early])
      expect(await listed(2)).toEqual([b, newestA])
      expect(await listed(0)).toEqual([])
      expect(await listed(10, { endedAfter: 10 })).toEqual([b, newestA])
      expect(await listed(10, { owner: 'ben' })).toEqual([b])
      expect(await listed(10, { tenantId: 'tnt_other' })).toEqual([])
    })

    test('of a name the newest are kept, and the others go, except what runs', async () => {
      const [own, other] = [await newSession(), await newSession()]
      const ids: string[] = []
      for (let at = 1; at <= 5; at += 1) {
        const running = at === 1 ? ({ status: 'running', exitCode: null, endedAt: null } as const) : {}
        ids.push(await newExecution(own, { kind: 'process', name: 'a', startedAt: at, ...running }))
      }
      await newExecution(own, { kind: 'process', name: 'b', startedAt: 1 })
      await newExecution(other, { kind: 'process', name: 'a', startedAt: 1 })
      const old = await store.read((sql) => oldProcesses(sql, own, 'a', 2))
      expect(old).toEqual([ids[2], ids[1]])
      await store.write((transaction) => deleteExecutions(transaction, own.id, [...old, ids[0] ?? '']))
      expect(await store.read((sql) => executionsKnown(sql, own.id, ids))).toHaveLength(3)
      expect(await store.read((sql) => oldProcesses(sql, own, 'a', 2))).toEqual([])
    })

    test('what one takes is none unless it is said, and changes with what is said', async () => {
      const id = await newExecution(await newSession())
      expect(await store.read((sql) => inputOf(sql, id))).toBe('none')
      for (const input of ['open', 'closed', 'terminal'] as const) {
        await store.write((transaction) => noteInput(transaction, id, input))
        expect(await store.read((sql) => inputOf(sql, id))).toBe(input)
      }
      expect(await store.read((sql) => inputOf(sql, 'exe_none'))).toBe('none')
    })

    test('a server finds the terminals that were attended in its own sessions and run', async () => {
      const [here, there] = [await newSession(SERVERS[0]), await newSession(SERVERS[1])]
      const running = { status: 'running', exitCode: null, endedAt: null } as const
      const [attended, left, over] = [
        await newExecution(here, running),
        await newExecution(here, running),
        await newExecution(here, running),
      ]
      const elsewhere = await newExecution(there, running)
      await store.write(async (transaction) => {
        for (const id of [attended, left, over, elsewhere]) await noteAttended(transaction, id, true)
        await noteAttended(transaction, left, false)
        const end = { status: 'completed', exitCode: 0, signal: null, endedAt: 1, durationMs: 1, outputSeq: 0, output: null } as const
        await endExecution(transaction, over, end)
      })
      const found = await store.read((sql) => attendedExecutions(sql, SERVERS[0] ?? ''))
      expect(found).toEqual([{ id: attended, session: { id: here.id, tenantId: TENANT }, by: 'client' }])
      expect(await store.read((sql) => isAttended(sql, attended))).toBe(true)
      expect(await store.read((sql) => isAttended(sql, left))).toBe(false)
      expect(await store.read((sql) => isAttended(sql, 'exe_none'))).toBe(false)
    })
  })
}
