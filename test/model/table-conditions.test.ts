/** The tables change a row only as it was read, and only where it may still change. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sampleSession } from '../../packages/server/src/sessions/contract/sample-session.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { openSqliteStore } from '../../packages/server/src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../packages/server/src/store/store.ts'
import * as executions from '../../packages/server/src/store/tables/executions.ts'
import type { ExecutionRow } from '../../packages/server/src/store/tables/executions.ts'
import * as sandboxes from '../../packages/server/src/store/tables/sandboxes.ts'
import type { SandboxState } from '@holdfast/protocol'
import { renewServer } from '../../packages/server/src/store/tables/servers.ts'
import * as sessions from '../../packages/server/src/store/tables/sessions.ts'
import type { SessionRow } from '../../packages/server/src/store/tables/sessions.ts'
import { insertTenant } from '../../packages/server/src/store/tables/tenants.ts'

const TENANT = 'tnt_default'
const SERVER = 'srv_0000000000000000'
const BOX = 'sbx_0000000000000000'

let store: Store
beforeEach(async () => {
  store = await openSqliteStore(':memory:')
  await migrate(store)
  const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
  await store.write(async (transaction) => {
    await insertTenant(transaction, { id: TENANT, name: 'default', state: 'active', policy, quotas: {}, version: 1, createdAt: 0 })
    await renewServer(transaction, { id: SERVER, url: null, now: 0, aliveUntil: 1 })
  })
})
afterEach(() => store.close())

async function session(differs: Partial<SessionRow> = {}): Promise<SessionRow> {
  const row = sampleSession({ tenantId: TENANT, serverId: SERVER, ...differs })
  await store.write((transaction) => sessions.insertSession(transaction, row))
  return row
}

function box(state: SandboxState, bootId: string | null = null): Promise<void> {
  const rest = {
    tenantId: TENANT,
    serverId: SERVER,
    sessionId: null,
    backend: 'docker',
    packKey: 'k',
    maxSessions: 2,
    version: 1,
    createdAt: 0,
  }
  return store.write((transaction) => sandboxes.insertSandbox(transaction, { id: BOX, state, bootId, ...rest }))
}

const stateOfBox = async () => (await store.read((sql) => sandboxes.findSandbox(sql, BOX)))?.state

describe('a session', () => {
  test('is changed only by who read its present version, in its own tenant', async () => {
    const row = await session()
    const change = (before: SessionRow) =>
      store.write((transaction) => sessions.updateSession(transaction, before, { ...before, running: 5, version: 9 }))
    expect(await change({ ...row, version: 7 })).toBe(false)
    expect(await change({ ...row, tenantId: 'tnt_another' })).toBe(false)
    expect(await change(row)).toBe(true)
  })

  test('is deleted only when it is closed, by who read its present version, in its own tenant', async () => {
    const remove = (row: SessionRow) => store.write((transaction) => sessions.deleteClosedSession(transaction, row))
    const [open, closed] = [await session(), await session({ state: 'expired' })]
    expect(await remove(open)).toBe(false)
    expect(await remove({ ...closed, version: 7 })).toBe(false)
    expect(await remove({ ...closed, tenantId: 'tnt_another' })).toBe(false)
    expect(await remove(closed)).toBe(true)
  })

  test('is found and locked in its own tenant only, and seen by its owner and the groups of it', async () => {
    const { id } = await session({ ownerGroup: 'team' })
    const seen = (tenantId: string, owner: string | null, groups: readonly string[]) =>
      store.read(async (sql) => (await sessions.findSession(sql, { tenantId, owner, groups }, id)) !== null)
    const looks = [seen(TENANT, null, []), seen(TENANT, 'alice', []), seen(TENANT, 'bob', ['team'])]
    const strangers = [
      seen('tnt_another', null, []),
      seen('tnt_another', 'alice', ['team']),
      seen(TENANT, 'bob', []),
      seen(TENANT, 'bob', ['other']),
    ]
    expect(await Promise.all([...looks, ...strangers])).toEqual([true, true, true, false, false, false, false])
    expect(await store.write((transaction) => sessions.lockSession(transaction, 'tnt_another', id))).toBeNull()
  })

  test('is due, closing or hosted on its own server only', async () => {
    await session({ state: 'closing', deadlineAt: 5 })
    const found = (serverId: string) =>
      store.read(async (sql) => [
        (await sessions.dueSessions(sql, serverId, 5, 10)).length,
        (await sessions.dueSessions(sql, serverId, 4, 10)).length,
        (await sessions.closingSessions(sql, serverId)).length,
        (await sessions.hostedSessions(sql, serverId)).length,
        await sessions.earliestDeadline(sql, serverId),
      ])
    expect(await found(SERVER)).toEqual([1, 0, 1, 1, 5])
    expect(await found('srv_another')).toEqual([0, 0, 0, 0, null])
  })
})

describe('a sandbox', () => {
  test.each([
    ['creating', null, true],
    ['ready', 'boot', true],
    ['ready', 'another boot', false],
    ['quarantined', null, false],
    ['ending', null, false],
  ] as const)('that is %s (%s) becomes ready: %s', async (state, bootId, becomes) => {
    await box(state, bootId)
    expect(await store.write((transaction) => sandboxes.markSandboxReady(transaction, BOX, 'boot'))).toBe(becomes)
  })

  test('on its way out is neither quarantined nor made anew', async () => {
    await box('ending')
    expect(await store.write((transaction) => sandboxes.quarantineSandbox(transaction, BOX))).toBe(false)
    expect(await store.write((transaction) => sandboxes.remakeSandbox(transaction, BOX))).toBe(false)
    expect(await stateOfBox()).toBe('ending')
  })

  test('is forgotten only on its way out, and goes there only when no session names it', async () => {
    await box('ready')
    const bound = await session({ sandboxId: BOX })
    const attempt = (act: (transaction: Parameters<Parameters<Store['write']>[0]>[0]) => Promise<boolean>) => store.write(act)
    expect(await attempt((transaction) => sandboxes.condemnSandbox(transaction, BOX))).toBe(false)
    expect(await attempt((transaction) => sandboxes.deleteSandbox(transaction, BOX))).toBe(false)
    expect(await attempt((transaction) => sandboxes.closeSandboxToOthers(transaction, BOX, 'ses_another'))).toBe(false)
    expect(await attempt((transaction) => sandboxes.closeSandboxToOthers(transaction, BOX, bound.id))).toBe(true)
    await attempt((transaction) => sessions.updateSession(transaction, bound, { ...bound, sandboxId: null }))
    expect(await attempt((transaction) => sandboxes.condemnSandbox(transaction, BOX))).toBe(true)
    expect(await attempt((transaction) => sandboxes.deleteSandbox(transaction, BOX))).toBe(true)
  })

  test.each(['quarantined', 'ending'] as const)('that is %s takes nobody in', async (state) => {
    await box(state)
    expect(await store.write((transaction) => sandboxes.lockRoomySandbox(transaction, 'k', SERVER))).toBeNull()
  })

  test('takes in who has its key, on its server, as long as there is room', async () => {
    await box('ready')
    const takes = (key: string, server: string) =>
      store.write(async (transaction) => (await sandboxes.lockRoomySandbox(transaction, key, server)) !== null)
    expect([await takes('k', SERVER), await takes('another', SERVER), await takes('k', 'srv_another')]).toEqual([true, false, false])
    await session({ sandboxId: BOX })
    await session({ sandboxId: BOX })
    expect(await takes('k', SERVER)).toBe(false)
  })
})

describe('an execution', () => {
  async function execution(differs: Partial<ExecutionRow> = {}): Promise<ExecutionRow> {
    const row: ExecutionRow = {
      ...{ id: 'exe_1', sessionId: (await session()).id, tenantId: TENANT, sandboxId: BOX, incarnation: 1, kind: 'command', name: null },
      ...{ actor: 'alice', timeoutMs: null, status: 'running', exitCode: null, signal: null, cancelAt: null, startedAt: 0, endedAt: null },
      ...{ durationMs: null, outputSeq: 0 },
      ...differs,
    }
    await store.write((transaction) => executions.insertExecution(transaction, row))
    return row
  }
  const end = (status: 'completed' | 'lost', isKilled = false) =>
    store.write((transaction) =>
      executions.endExecution(transaction, 'exe_1', {
        ...{ status, isKilled, exitCode: null, signal: null, endedAt: 1, durationMs: 1, outputSeq: 0, output: null },
      }),
    )
  const cancel = (at: number) => store.write((transaction) => executions.requestCancel(transaction, 'exe_1', at))

  test('is withdrawn from its own sandbox only, and not after an end that a guest reported', async () => {
    const withdraw = (from: string) => store.write((transaction) => executions.withdrawExecution(transaction, 'exe_1', from))
    await execution()
    expect([await withdraw('sbx_other'), await withdraw(BOX), await withdraw(BOX)]).toEqual([null, 'running', null])
    await execution({ status: 'lost' })
    expect(await withdraw(BOX)).toBe('lost')
    await execution({ status: 'completed' })
    expect(await withdraw(BOX)).toBeNull()
  })

  test('ends once, and what comes later changes nothing', async () => {
    const { sessionId } = await execution()
    expect([await end('lost'), await end('completed'), await cancel(5)]).toEqual(['lost', null, false])
    const stored = await store.read((sql) => executions.findExecution(sql, TENANT, sessionId, 'exe_1'))
    expect(stored).toMatchObject({ status: 'lost', cancelAt: null })
  })

  test('is cancelled when somebody asked for that and it was killed, and only then', async () => {
    await execution()
    expect([await cancel(5), await cancel(6)]).toEqual([true, true])
    expect(await end('completed', true)).toBe('cancelled')
  })

  test('that was asked to end and ended by itself is completed, and one that was killed by nobody’s wish, too', async () => {
    await execution()
    await cancel(5)
    expect(await end('completed', false)).toBe('completed')
  })

  test('is deleted with its session only when it has ended', async () => {
    const { sessionId } = await execution()
    const remove = () => store.write((transaction) => executions.deleteExecutions(transaction, sessionId, ['exe_1']))
    await remove()
    expect(await store.read((sql) => executions.endedExecutionIds(sql, sessionId, 10))).toEqual([])
    expect(await store.read((sql) => executions.executionsKnown(sql, sessionId, ['exe_1']))).toEqual(['exe_1'])
    await end('lost')
    expect(await store.read((sql) => executions.endedExecutionIds(sql, sessionId, 10))).toEqual(['exe_1'])
    await remove()
    expect(await store.read((sql) => executions.executionsKnown(sql, sessionId, ['exe_1']))).toEqual([])
  })

  test('is found in its own session and tenant only', async () => {
    const { sessionId } = await execution()
    const isFound = (tenantId: string, id: string) =>
      store.read(async (sql) => (await executions.findExecution(sql, tenantId, id, 'exe_1')) !== null)
    expect([await isFound(TENANT, sessionId), await isFound('tnt_another', sessionId), await isFound(TENANT, 'ses_another')]).toEqual([
      true,
      false,
      false,
    ])
  })
})
