/**
 * What lists of sessions by label, and of sandboxes, promise on every store, as runnable proofs.
 *
 * Stands beside the flow. Each proof has a tenant of its own.
 */
import { TenantPolicy } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomId } from '../../../home/random-id.ts'
import { sampleSession } from '../../../sessions/contract/sample-session.ts'
import { migrate, MIGRATIONS } from '../../migrate.ts'
import type { Store, Transaction } from '../../store.ts'
import { insertSandbox } from '../sandboxes.ts'
import type { SandboxRow } from '../sandboxes.ts'
import { renewServer } from '../servers.ts'
import { deleteClosedSession, insertSession, listSessions, sessionsOfEndedTenants, updateSession } from '../sessions.ts'
import type { SessionFilter, SessionRow, Visible } from '../sessions.ts'
import { insertTenant, lockTenant, updateTenant } from '../tenants.ts'
import { findVisibleSandbox, listSandboxes } from '../visible-sandboxes.ts'

const SERVER = 'srv_0000000000000000'
/** As the third version wrote it, which knew no transfers. */
const {
  pendingTransfer: _,
  credentials: _credentials,
  ...EARLIER
} = sampleSession({
  tenantId: 'tnt_earlier',
  labels: { team: 'a=b', odd: `it's "ż" 😀`, n: '' },
})

async function insertEarlierSession(transaction: Transaction): Promise<void> {
  const { tenantId } = EARLIER
  const name = tenantId.replace('_', '-')
  const policy = TenantPolicy.parse({})
  await insertTenant(transaction, { id: tenantId, name, state: 'active', policy, quotas: {}, version: 1, createdAt: 0 })
  const fields = Object.entries(EARLIER)
  const columns = fields.map(([field]) => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  const values = fields.map(([, value]) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value))
  await transaction.run(`INSERT INTO sessions (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`, ...values)
}

export function listsContract(name: string, open: () => Promise<Store>): void {
  let store: Store
  beforeAll(async () => {
    store = await open()
    await migrate(store, MIGRATIONS.slice(0, 3))
    await store.write(insertEarlierSession)
    await migrate(store)
    await store.write((transaction) => renewServer(transaction, { id: SERVER, url: null, now: 0, aliveUntil: 1 }))
  })
  afterAll(() => store.close())

  async function ground() {
    const tenantId = randomId('tnt')
    await store.write((transaction) =>
      insertTenant(transaction, {
        ...{ id: tenantId, name: tenantId.replace('_', '-'), state: 'active', policy: TenantPolicy.parse({}) },
        ...{ quotas: {}, version: 1, createdAt: 0 },
      }),
    )
    const all: Visible = { tenantId, owner: null, groups: [] }
    return {
      tenantId,
      all,
      of: (owner: string, ...groups: string[]) => ({ tenantId, owner, groups }),
      async session(differs: Partial<SessionRow>): Promise<SessionRow> {
        const row = sampleSession({ tenantId, ...differs })
        expect(await store.write((transaction) => insertSession(transaction, row))).toBe(true)
        return row
      },
      async sandbox(differs: Partial<SandboxRow>): Promise<SandboxRow> {
        const row: SandboxRow = {
          ...{ id: randomId('sbx'), tenantId, serverId: SERVER, sessionId: null, backend: 'bubblewrap', state: 'ready', bootId: null },
          ...{ packKey: null, maxSessions: 4, version: 1, createdAt: 1000, ...differs },
        }
        await store.write((transaction) => insertSandbox(transaction, row))
        return row
      },
      labelled: async (labels: NonNullable<SessionFilter['labels']>, filter: SessionFilter = {}, visible = all) =>
        (await store.read((sql) => listSessions(sql, visible, { ...filter, labels }, null, 100))).map(({ id }) => id),
      boxes: async (visible = all) => (await store.read((sql) => listSandboxes(sql, visible, null, 100))).map(({ id }) => id),
    }
  }

  describe(`${name} lists sessions by label`, () => {
    const TEAM_A = { name: 'team', value: 'a' }

    test('all of several labels have to fit, name and value', async () => {
      const { session, labelled } = await ground()
      const both = await session({ labels: { team: 'a', colour: 'red' }, createdAt: 3 })
      const one = await session({ labels: { team: 'a' }, createdAt: 2 })
      await session({ labels: { team: 'b', colour: 'red' } })
      await session({ labels: { other: 'a' } })
      await session({})
      expect(await labelled([TEAM_A])).toEqual([both.id, one.id])
      expect(await labelled([TEAM_A, { name: 'colour', value: 'red' }])).toEqual([both.id])
      expect(await labelled([{ name: 'colour', value: 'red' }, TEAM_A])).toEqual([both.id])
      expect(await labelled([TEAM_A, { name: 'team', value: 'b' }])).toEqual([])
      expect(await labelled([{ name: 'team', value: 'A' }])).toEqual([])
    })

    test('sessions of an earlier version are found by the labels that they had', async () => {
      for (const label of [
        { name: 'team', value: 'a=b' },
        { name: 'odd', value: `it's "ż" 😀` },
        { name: 'n', value: '' },
      ]) {
        const found = await store.read((sql) => listSessions(sql, { ...EARLIER, owner: null, groups: [] }, { labels: [label] }, null, 10))
        expect(found).toMatchObject([{ id: EARLIER.id }])
      }
    })

    test('odd values are compared as they are', async () => {
      const { session, labelled } = await ground()
      for (const value of ['', `it's`, 'a=b', '%', '"quoted"', 'żółć 😀', '$."team"']) {
        const { id } = await session({ labels: { odd: value } })
        expect(await labelled([{ name: 'odd', value }])).toEqual([id])
      }
    })

    test('other filters, and who may see what, hold as well', async () => {
      const { session, labelled, of } = await ground()
      const other = await ground()
      const ada = await session({ owner: 'ada', labels: { team: 'a' }, createdAt: 2 })
      const bob = await session({ owner: 'bob', ownerGroup: 'red', labels: { team: 'a' }, createdAt: 1, state: 'suspended' })
      await other.session({ owner: 'ada', labels: { team: 'a' } })
      expect(await labelled([TEAM_A])).toEqual([ada.id, bob.id])
      expect(await labelled([TEAM_A], { states: ['suspended'] })).toEqual([bob.id])
      expect(await labelled([TEAM_A], { key: ada.key })).toEqual([ada.id])
      expect(await labelled([TEAM_A], {}, of('ada'))).toEqual([ada.id])
      expect(await labelled([TEAM_A], {}, of('ada', 'red'))).toEqual([ada.id, bob.id])
      expect(await labelled([TEAM_A], {}, of('eve'))).toEqual([])
    })

    test('follows a change of labels, and forgets those of a session that is dropped', async () => {
      const { session, labelled } = await ground()
      const row = await session({ labels: { team: 'a', colour: 'red' }, state: 'released' })
      const changed = { ...row, labels: { team: 'b' }, version: 2 }
      expect(await store.write((transaction) => updateSession(transaction, row, changed))).toBe(true)
      expect([await labelled([TEAM_A]), await labelled([{ name: 'colour', value: 'red' }])]).toEqual([[], []])
      expect(await labelled([{ name: 'team', value: 'b' }])).toEqual([row.id])
      const late = { ...row, labels: { team: 'late' }, version: 2 }
      expect(await store.write((transaction) => updateSession(transaction, row, late))).toBe(false)
      expect(await store.write((transaction) => deleteClosedSession(transaction, row))).toBe(false)
      expect(await labelled([{ name: 'team', value: 'b' }])).toEqual([row.id])
      expect(await store.write((transaction) => deleteClosedSession(transaction, changed))).toBe(true)
      const left = await store.read((sql) => sql.all('SELECT name FROM session_labels WHERE session_id = ?', row.id))
      expect(left).toEqual([])
    })

    test('a session that could not be made leaves no labels', async () => {
      const { session, tenantId } = await ground()
      const row = await session({ labels: { team: 'a' } })
      const rival = sampleSession({ tenantId, keyHash: row.keyHash, labels: { team: 'b' } })
      expect(await store.write((transaction) => insertSession(transaction, rival))).toBe(false)
      expect(await store.read((sql) => sql.all('SELECT name FROM session_labels WHERE session_id = ?', rival.id))).toEqual([])
    })

    test('pages follow one another without a gap, also among sessions of one moment', async () => {
      const { session, labelled, all } = await ground()
      for (let index = 0; index < 9; index += 1) {
        await session({ labels: { team: 'a' }, createdAt: 1000 + (index % 3) })
        await session({ createdAt: 1000 + (index % 3) })
      }
      const paged: string[] = []
      for (let last: SessionRow | undefined; ;) {
        const after = last === undefined ? null : { createdAt: last.createdAt, id: last.id }
        const page = await store.read((sql) => listSessions(sql, all, { labels: [TEAM_A] }, after, 2))
        last = page.at(-1)
        if (last === undefined) break
        paged.push(...page.map(({ id }) => id))
      }
      expect(paged).toHaveLength(9)
      expect(paged).toEqual(await labelled([TEAM_A]))
    })
  })

  test(`${name} finds the sessions of terminated tenants that live on one server, and no others`, async () => {
    const [leaving, staying] = [await ground(), await ground()]
    await staying.session({ serverId: SERVER })
    const live: string[] = []
    for (const state of ['pending', 'idle', 'active', 'suspended'] as const)
      live.push((await leaving.session({ state, serverId: SERVER })).id)
    for (const state of ['closing', 'released', 'failed'] as const) await leaving.session({ state, serverId: SERVER })
    await leaving.session({ serverId: null })
    const found = async () => (await store.read((sql) => sessionsOfEndedTenants(sql, SERVER, 100))).map(({ id }) => id).toSorted()
    expect(await found()).toEqual([])
    await store.write(async (transaction) => {
      const tenant = await lockTenant(transaction, leaving.tenantId)
      if (tenant !== null) await updateTenant(transaction, tenant, { state: 'terminating' })
    })
    expect(await found()).toEqual(live.toSorted())
  })

  describe(`${name} lists sandboxes`, () => {
    test('all of a tenant, newest first, with those who are in them', async () => {
      const { sandbox, session, boxes, all } = await ground()
      const other = await ground()
      await other.sandbox({})
      const old = await sandbox({ createdAt: 1 })
      const young = await sandbox({ createdAt: 2, state: 'ending' })
      const [one, two] = [await session({ sandboxId: old.id }), await session({ sandboxId: old.id })]
      await session({ sandboxId: null })
      expect(await boxes()).toEqual([young.id, old.id])
      expect(await store.read((sql) => findVisibleSandbox(sql, all, old.id))).toMatchObject({
        ...{ id: old.id, sessionIds: [one.id, two.id].toSorted(), sessionCount: 2 },
      })
      expect(await store.read((sql) => findVisibleSandbox(sql, all, young.id))).toMatchObject({ sessionIds: [], sessionCount: 0 })
      expect(await store.read((sql) => findVisibleSandbox(sql, other.all, old.id))).toBeNull()
    })

    test('an owner sees those that its sessions are in or that were made for them, and of others in there only how many', async () => {
      const { sandbox, session, boxes, of } = await ground()
      const shared = await sandbox({ createdAt: 4 })
      const foreign = await sandbox({ createdAt: 3 })
      const own = await session({ owner: 'ada', sandboxId: shared.id })
      await session({ owner: 'bob', ownerGroup: 'red', sandboxId: shared.id })
      await session({ owner: 'bob', ownerGroup: 'red', sandboxId: foreign.id })
      const leaving = await sandbox({ createdAt: 2, sessionId: own.id, state: 'ending' })
      await sandbox({ createdAt: 1 })
      expect(await boxes(of('ada'))).toEqual([shared.id, leaving.id])
      expect(await boxes(of('ada', 'red'))).toEqual([shared.id, foreign.id, leaving.id])
      expect(await boxes(of('eve'))).toEqual([])
      expect(await store.read((sql) => findVisibleSandbox(sql, of('ada'), shared.id))).toMatchObject({
        ...{ sessionIds: [own.id], sessionCount: 2 },
      })
      expect(await store.read((sql) => findVisibleSandbox(sql, of('ada'), foreign.id))).toBeNull()
    })

    test('pages follow one another without a gap', async () => {
      const { sandbox, boxes, all } = await ground()
      for (let index = 0; index < 7; index += 1) await sandbox({ createdAt: 1000 + (index % 2) })
      const paged: string[] = []
      for (let last: SandboxRow | undefined; ;) {
        const after = last === undefined ? null : { createdAt: last.createdAt, id: last.id }
        const page = await store.read((sql) => listSandboxes(sql, all, after, 2))
        last = page.at(-1)
        if (last === undefined) break
        paged.push(...page.map(({ id }) => id))
      }
      expect(paged).toEqual(await boxes())
    })
  })
}
