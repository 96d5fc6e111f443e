/** Who starts processes again, with every start in the test's hand: what is called off meanwhile is not made, and trouble passes. */
import { HoldfastError, TenantPolicy } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { untilHolds } from '../../../../../test/servers/eventually.ts'
import { createSealing } from '../../home/sealing.ts'
import { migrate } from '../../store/migrate.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import { insertExecution } from '../../store/tables/executions.ts'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import { endRestart, findRestart, putRestart } from '../../store/tables/process-restarts.ts'
import { renewServer } from '../../store/tables/servers.ts'
import { insertSession } from '../../store/tables/sessions.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { insertTenant } from '../../store/tables/tenants.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { sampleSession } from '../contract/sample-session.ts'
import type { RunRequest, Running } from '../running.ts'
import { createProcessKeeper } from './process-keeper.ts'
import type { ProcessKeeper } from './process-keeper.ts'
import { sealCommand } from './sealed-command.ts'

const TENANT = 'tnt_default'
const SERVER = 'srv_0000000000000001'
const COMMAND = { argv: ['/bin/sh', '-c', 'exit 1'], env: { SECRET: 'x' }, interactive: true }
const sealing = createSealing(new Uint8Array(32))

let store: Store
let session: SessionRow
let keeper: ProcessKeeper
let ended: ExecutionRow
let starts: RunRequest[]
let answer: (request: RunRequest) => Promise<void>

beforeEach(async () => {
  store = await openSqliteStore(':memory:')
  await migrate(store)
  session = sampleSession({ tenantId: TENANT, serverId: SERVER, state: 'idle' })
  await store.write(async (transaction) => {
    const policy = TenantPolicy.parse({})
    await insertTenant(transaction, { id: TENANT, name: 'default', state: 'active', policy, quotas: {}, version: 1, createdAt: 0 })
    await renewServer(transaction, { id: SERVER, url: null, now: 0, aliveUntil: 1 })
    await insertSession(transaction, session)
    const sealed = sealCommand(sealing, { sessionId: session.id, name: 'web' }, COMMAND)
    const counts = { maxRestarts: null, backoffMs: 1_000, restarts: 3, inARow: 0 }
    await putRestart(transaction, { sessionId: session.id, name: 'web', policy: 'always', ...counts, command: sealed })
    ended = {
      ...{ id: 'exe_1', sessionId: session.id, tenantId: TENANT, sandboxId: 'sbx_1', incarnation: 1, kind: 'process', name: 'web' },
      ...{ actor: 'ada', timeoutMs: null, status: 'completed', exitCode: 1, signal: null, cancelAt: null, startedAt: 0, endedAt: 1 },
      ...{ durationMs: 1, outputSeq: 0 },
    }
    await insertExecution(transaction, ended)
  })
  starts = []
  answer = async ({ alongside }) => store.write(async (transaction) => alongside?.(transaction))
  const start: Running['start'] = async (_caller, _target, request) => {
    starts.push(request)
    await answer(request)
    return { executionId: 'exe_2', session: { id: session.id, key: 'k', incarnation: 1, workspace: 'intact' } }
  }
  keeper = createProcessKeeper({
    ...{ store, sealing, running: { start }, serverId: SERVER, outputDirectory: '/nowhere', clock: Date.now, retryMs: 20 },
    retries: { untilStored: (_what, _fields, write) => write() },
    reads: { hosted: async () => session },
    log: jsonLog('error', () => undefined),
  })
})
afterEach(async () => {
  keeper.stop()
  await store.close()
})

const rules = () => store.read((sql) => findRestart(sql, session.id, 'web'))

test('what is due is started with the command that was sealed, and counted with it', async () => {
  keeper.look(session)
  await untilHolds(async () => expect(await rules()).toMatchObject({ restarts: 4, inARow: 1 }))
  expect(starts).toMatchObject([{ name: 'web', command: COMMAND }])
})

test('what is called off while it is being started is not', async () => {
  const refused = Promise.withResolvers<unknown>()
  answer = async ({ alongside }) => {
    await store.write((transaction) => endRestart(transaction, session.id, 'web'))
    const written = store.write(async (transaction) => alongside?.(transaction))
    written.catch(refused.resolve)
    await written
  }
  keeper.look(session)
  expect(await refused.promise).toMatchObject({ code: 'request_cancelled' })
  expect(await rules()).toMatchObject({ restarts: 3, command: null })
})

test('what ended and came due again while its start was being finished is started again', async () => {
  const finish = Promise.withResolvers<void>()
  answer = async ({ alongside }) => {
    if (starts.length > 1) return
    await store.write(async (transaction) => {
      await alongside?.(transaction)
      await insertExecution(transaction, { ...ended, id: 'exe_2', startedAt: 2, endedAt: 3 })
    })
    keeper.look(session)
    await finish.promise
  }
  const due = vi.spyOn(globalThis, 'setTimeout')
  keeper.look(session)
  // Once for each time that it came due; the second finds the first start unfinished.
  await untilHolds(() => expect(due.mock.calls.filter(([, ms]) => ms === 0)).toHaveLength(2))
  await new Promise((resolve) => setImmediate(resolve))
  due.mockRestore()
  finish.resolve()
  await untilHolds(() => expect(starts).toHaveLength(2))
})

test('what could not be started for a passing reason is tried again', async () => {
  answer = () => Promise.reject(new HoldfastError('backend_unavailable', 'the engine does not answer at the moment'))
  keeper.look(session)
  await untilHolds(() => expect(starts.length).toBeGreaterThanOrEqual(2))
  expect(await rules()).toMatchObject({ restarts: 3, command: expect.any(Uint8Array) })
})

test('what can never be started again is over', async () => {
  answer = () => Promise.reject(new HoldfastError('session_closed', 'the session is closed'))
  keeper.look(session)
  await untilHolds(async () => expect(await rules()).toMatchObject({ command: null }))
})

test('nothing is started after the server stops', async () => {
  keeper.stop()
  keeper.look(session)
  await keeper.recover()
  expect(starts).toEqual([])
})
