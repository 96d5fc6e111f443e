/** Who is at which terminal: the last word counts, who comes back is not punished, and nothing is forgotten over a restart. */
import { HoldfastError, TenantPolicy } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { migrate } from '../store/migrate.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import { attendedNumber, isAttended, noteAttended } from '../store/tables/execution-input.ts'
import { endExecution, insertExecution } from '../store/tables/executions.ts'
import { renewServer } from '../store/tables/servers.ts'
import { insertSession } from '../store/tables/sessions.ts'
import { insertTenant } from '../store/tables/tenants.ts'
import { createAbandonedExecutions } from './abandoned-executions.ts'
import { sampleSession } from './contract/sample-session.ts'
import type { Killed } from './executions/cancelling.ts'

const SERVER = 'srv_0000000000000000'
const GRACE_MS = 30_000
const LOG = { debug() {}, info() {}, warn() {}, error() {} }
const SESSION = sampleSession({ tenantId: 'tnt_default', serverId: SERVER })
const KILLED: Killed = { executions: 1, killed: 1, verified: true }

let store: Store
const kill = vi.fn(async (_row: { readonly id: string }): Promise<Killed> => KILLED)
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  kill.mockClear()
  store = await openSqliteStore(':memory:')
  await migrate(store)
  const policy = TenantPolicy.parse({})
  await store.write(async (transaction) => {
    await insertTenant(transaction, { id: 'tnt_default', name: 'default', state: 'active', policy, quotas: {}, version: 1, createdAt: 0 })
    await renewServer(transaction, { id: SERVER, url: null, now: 0, aliveUntil: 1 })
    await insertSession(transaction, SESSION)
    for (const id of ['exe_1', 'exe_2'])
      await insertExecution(transaction, {
        ...{ id, sessionId: SESSION.id, tenantId: SESSION.tenantId, sandboxId: 'sbx_1', incarnation: 1, kind: 'command', name: null },
        ...{ actor: 'alice', timeoutMs: null, status: 'running', exitCode: null, signal: null, cancelAt: null, startedAt: 0 },
        ...{ endedAt: null, durationMs: null, outputSeq: 0 },
      })
  })
})
afterEach(async () => {
  vi.useRealTimers()
  await store.close()
})

const life = () =>
  createAbandonedExecutions({
    ...{ store, serverId: SERVER, log: LOG, graceMs: GRACE_MS, maxAttendants: 2 },
    executions: { running: () => undefined },
    cancelling: { one: kill, leftOf: vi.fn(), all: vi.fn(), receivers: vi.fn() },
    fleet: { get: () => undefined },
  })
/** The kill is preceded by a look into the store, which takes its own turns. */
const pass = async (ms: number) => {
  vi.advanceTimersByTime(ms)
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
const attended = (id: string) => store.read((sql) => isAttended(sql, id))

test('a terminal whose client is gone ends after the grace, and not before', async () => {
  await life().arrive(SESSION, 'exe_1').leave('gone')
  await pass(GRACE_MS - 1)
  expect(kill).not.toHaveBeenCalled()
  await pass(1)
  expect(kill.mock.calls.map(([row]) => row.id)).toEqual(['exe_1'])
})

test('who comes back is waited for anew, and the last one to leave decides', async () => {
  const terminals = life()
  await terminals.arrive(SESSION, 'exe_1').leave('gone')
  await pass(GRACE_MS - 1)
  const [first, second] = [await terminals.comeBack(SESSION, 'exe_1'), await terminals.comeBack(SESSION, 'exe_1')]
  await pass(GRACE_MS)
  await first.leave('gone')
  await pass(GRACE_MS)
  expect(kill).not.toHaveBeenCalled()
  await second.leave('detached')
  // The first word counts.
  await second.leave('gone')
  await pass(GRACE_MS)
  expect(kill).not.toHaveBeenCalled()
  expect(await attended('exe_1')).toBe(false)
  const third = await terminals.comeBack(SESSION, 'exe_1')
  expect(await attended('exe_1')).toBe(true)
  await third.leave('gone')
  await pass(GRACE_MS)
  expect(kill).toHaveBeenCalledTimes(1)
})

test('what ended by itself is not ended again', async () => {
  const terminals = life()
  const attendant = terminals.arrive(SESSION, 'exe_1')
  terminals.ended('exe_1')
  await attendant.leave('gone')
  await terminals.arrive(SESSION, 'exe_2').leave('gone')
  const end = { status: 'completed', exitCode: 0, signal: null, endedAt: 1, durationMs: 1, outputSeq: 0, output: null } as const
  await store.write((transaction) => endExecution(transaction, 'exe_2', end))
  await pass(GRACE_MS)
  expect(kill).not.toHaveBeenCalled()
})

test('a kill that fails is tried again', async () => {
  kill.mockRejectedValueOnce(new HoldfastError('store_unavailable', 'not now'))
  await life().arrive(SESSION, 'exe_1').leave('gone')
  await pass(GRACE_MS)
  await pass(GRACE_MS)
  expect(kill).toHaveBeenCalledTimes(2)
})

test('looking at a terminal does not keep it; looking at a command whose caller is waited for does', async () => {
  await store.write(async (transaction) => {
    await noteAttended(transaction, 'exe_1', true)
  })
  const terminal = life()
  await terminal.recover()
  expect(terminal.visit('exe_1')).toBeNull()
  terminal.stop()
  await store.write((transaction) => transaction.run(`UPDATE executions SET attended = ? WHERE id = 'exe_1'`, attendedNumber('caller')))
  const command = life()
  await command.recover()
  const attendant = command.visit('exe_1')
  await pass(GRACE_MS)
  expect(kill).not.toHaveBeenCalled()
  await attendant?.leave('gone')
  await pass(GRACE_MS)
  expect(kill).toHaveBeenCalledTimes(1)
})

test('a start waits for the clients of the life before, and only for them', async () => {
  await store.write((transaction) => noteAttended(transaction, 'exe_1', true))
  const before = life()
  await before.comeBack(SESSION, 'exe_1')
  before.stop()
  const next = life()
  await next.recover()
  await pass(GRACE_MS - 1)
  expect(kill).not.toHaveBeenCalled()
  await pass(1)
  expect(kill.mock.calls.map(([row]) => row.id)).toEqual(['exe_1'])
})

test('a server that stops ends nothing, whoever leaves', async () => {
  const terminals = life()
  const [early, late] = [terminals.arrive(SESSION, 'exe_1'), terminals.arrive(SESSION, 'exe_2')]
  await early.leave('gone')
  terminals.stop()
  await late.leave('gone')
  await pass(10 * GRACE_MS)
  expect(kill).not.toHaveBeenCalled()
})

test('only so many are at the terminals of one session', async () => {
  const terminals = life()
  const first = terminals.arrive(SESSION, 'exe_1')
  terminals.checkRoom(SESSION.id)
  terminals.arrive(SESSION, 'exe_2')
  expect(() => terminals.checkRoom(SESSION.id)).toThrow(expect.objectContaining({ code: 'quota_exceeded' }))
  terminals.checkRoom('ses_another')
  await first.leave('detached')
  terminals.checkRoom(SESSION.id)
  const reader = terminals.look(SESSION, 'exe_1')
  expect(() => terminals.checkRoom(SESSION.id)).toThrow(expect.objectContaining({ code: 'quota_exceeded' }))
  // One that ends while somebody reads it still has its reader.
  terminals.ended('exe_2')
  expect(() => terminals.checkRoom(SESSION.id)).toThrow(expect.objectContaining({ code: 'quota_exceeded' }))
  await reader.leave('gone')
  terminals.checkRoom(SESSION.id)
  await pass(GRACE_MS)
  expect(kill).not.toHaveBeenCalled()
})
