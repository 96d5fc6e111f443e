/**
 * What the tables about restarts and places of processes promise, on every store, as runnable proofs.
 *
 * Stands beside the flow.
 */
import { TenantPolicy } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleSession } from '../../../sessions/contract/sample-session.ts'
import { migrate } from '../../migrate.ts'
import type { Store, Transaction } from '../../store.ts'
import { findPlace, putPlace } from '../process-places.ts'
import {
  countRestart,
  dropRestart,
  endRestart,
  endRestarts,
  findRestart,
  keptRestarts,
  listRestarts,
  putRestart,
  sessionsWithRestarts,
} from '../process-restarts.ts'
import type { RestartRow } from '../process-restarts.ts'
import { renewServer } from '../servers.ts'
import { deleteClosedSession, insertSession } from '../sessions.ts'
import type { SessionRow } from '../sessions.ts'
import { insertTenant } from '../tenants.ts'

const TENANT = 'tnt_default'
const SERVERS = ['srv_0000000000000001', 'srv_0000000000000002']

export function processRestartsContract(kind: string, open: () => Promise<Store>): void {
  describe(`restarts of processes on ${kind}`, () => {
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

    async function newSession(differs: Partial<SessionRow> = {}): Promise<SessionRow> {
      const row = sampleSession({ tenantId: TENANT, serverId: SERVERS[0] ?? '', ...differs })
      await store.write((transaction) => insertSession(transaction, row))
      return row
    }
    function rules({ id }: SessionRow, name: string, differs: Partial<RestartRow> = {}): RestartRow {
      const counts = { maxRestarts: null, backoffMs: 1_000, restarts: 0, inARow: 0 }
      return { sessionId: id, name, policy: 'always', ...counts, command: Buffer.from([0, 1, 255]), ...differs }
    }
    const write = <T>(work: (transaction: Transaction) => Promise<T>) => store.write(work)
    const find = ({ id }: SessionRow, name: string) => store.read((sql) => findRestart(sql, id, name))
    const names = (rows: readonly RestartRow[]) => rows.map(({ name }) => name).toSorted()

    test('what is put comes back as it was, and takes the place of what was there', async () => {
      const session = await newSession()
      const first = rules(session, 'web', { policy: 'on-failure', maxRestarts: 3, restarts: 2, inARow: 1 })
      await write((transaction) => putRestart(transaction, first))
      const found = await find(session, 'web')
      expect({ ...found, command: [...(found?.command ?? [])] }).toEqual({ ...first, command: [0, 1, 255] })
      await write((transaction) => putRestart(transaction, rules(session, 'web')))
      expect(await find(session, 'web')).toMatchObject({ policy: 'always', maxRestarts: null, restarts: 0 })
      await write((transaction) => dropRestart(transaction, session.id, 'web'))
      expect(await find(session, 'web')).toBeNull()
    })

    test('a restart counts once, whoever is quicker, and never for what is over', async () => {
      const session = await newSession()
      const row = rules(session, 'web')
      await write((transaction) => putRestart(transaction, row))
      expect(await write((transaction) => countRestart(transaction, row, 4))).toBe(true)
      expect(await write((transaction) => countRestart(transaction, row, 4))).toBe(false)
      expect(await find(session, 'web')).toMatchObject({ restarts: 1, inARow: 4 })
      await write((transaction) => endRestart(transaction, session.id, 'web'))
      expect(await write((transaction) => countRestart(transaction, { ...row, restarts: 1 }, 5))).toBe(false)
      expect(await find(session, 'web')).toMatchObject({ restarts: 1, command: null })
    })

    test('what is over is told of and not kept; ending one leaves the others', async () => {
      const [own, other] = [await newSession(), await newSession()]
      for (const [session, name] of [[own, 'a'] as const, [own, 'b'] as const, [own, 'c'] as const, [other, 'a'] as const])
        await write((transaction) => putRestart(transaction, rules(session, name)))
      await write((transaction) => endRestart(transaction, own.id, 'b'))
      expect(names(await store.read((sql) => listRestarts(sql, own.id)))).toEqual(['a', 'b', 'c'])
      expect(names(await store.read((sql) => keptRestarts(sql, own.id)))).toEqual(['a', 'c'])
      await write((transaction) => endRestarts(transaction, own.id))
      expect(await store.read((sql) => keptRestarts(sql, own.id))).toEqual([])
      expect(names(await store.read((sql) => keptRestarts(sql, other.id)))).toEqual(['a'])
    })

    test('a server finds its own sessions that have any, once each', async () => {
      const [here, there, over] = [await newSession(), await newSession({ serverId: SERVERS[1] ?? '' }), await newSession()]
      for (const [session, name] of [[here, 'a'] as const, [here, 'b'] as const, [there, 'a'] as const, [over, 'a'] as const])
        await write((transaction) => putRestart(transaction, rules(session, name)))
      await write((transaction) => endRestarts(transaction, over.id))
      const found = await store.read((sql) => sessionsWithRestarts(sql, SERVERS[0] ?? ''))
      expect(found.filter(({ id }) => [here.id, there.id, over.id].includes(id))).toEqual([{ id: here.id, tenantId: TENANT }])
    })

    test('a place is that of the newest execution', async () => {
      const session = await newSession()
      const place = () => store.read((sql) => findPlace(sql, session.id, 'web'))
      expect(await place()).toBeNull()
      await write((transaction) => putPlace(transaction, session.id, 'web', { executionId: 'exe_1', seq: 7 }))
      await write((transaction) => putPlace(transaction, session.id, 'web', { executionId: 'exe_2', seq: 3 }))
      expect(await place()).toEqual({ executionId: 'exe_2', seq: 3 })
    })

    test('everything goes with the record of its session', async () => {
      const session = await newSession({ state: 'released' })
      await write(async (transaction) => {
        await putRestart(transaction, rules(session, 'web'))
        await putPlace(transaction, session.id, 'web', { executionId: 'exe_1', seq: 7 })
      })
      expect(await write((transaction) => deleteClosedSession(transaction, session))).toBe(true)
      expect(await find(session, 'web')).toBeNull()
      expect(await store.read((sql) => findPlace(sql, session.id, 'web'))).toBeNull()
    })
  })
}
