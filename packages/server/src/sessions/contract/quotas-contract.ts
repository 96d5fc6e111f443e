/**
 * What quotas promise on every store, as runnable proofs.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { SessionState, TenantQuotas, TenantState } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomId } from '../../home/random-id.ts'
import { migrate } from '../../store/migrate.ts'
import type { Store } from '../../store/store.ts'
import { insertSession } from '../../store/tables/sessions.ts'
import { countSessions, insertTenant } from '../../store/tables/tenants.ts'
import { createQuotas } from '../quotas.ts'
import type { QuotaLimits, QuotaRequest } from '../quotas.ts'
import { sampleSession } from './sample-session.ts'

const UNLIMITED: QuotaLimits = {
  ...{ open_sessions: null, open_sessions_per_owner: null, compute_sessions: null, compute_sessions_per_owner: null },
  ...{ profiles: null, pipelines: null, kept_output_bytes: null, kept_events: null, kept_answer_bytes: null },
}
const ALL_STATES: readonly SessionState[] = [
  ...(['pending', 'idle', 'active', 'suspended', 'closing', 'released', 'cancelled', 'expired', 'failed'] as const),
]

export function quotasContract(name: string, open: () => Promise<Store>): void {
  let store: Store
  beforeAll(async () => {
    store = await open()
    await migrate(store)
  })
  afterAll(() => store.close())

  /** A tenant that no other proof touches. */
  async function tenant(quotas: TenantQuotas, defaults: Partial<QuotaLimits> = {}, state: TenantState = 'active') {
    const id = randomId('tnt')
    const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
    await store.write((transaction) => insertTenant(transaction, { id, name: id, state, policy, quotas, version: 1, createdAt: 0 }))
    const { check } = createQuotas({ defaults: { ...UNLIMITED, ...defaults } })

    const add = (owner: string, sessionState: SessionState) =>
      store.write((transaction) => insertSession(transaction, sampleSession({ tenantId: id, owner, state: sessionState })))
    /** As a create does it: check, then insert. Answers the refusal, if any. */
    const create = async (owner: string, more: Partial<QuotaRequest> = {}) => {
      try {
        await store.write(async (transaction) => {
          await check(transaction, { tenantId: id, owner, adds: 'both', askedBy: owner, ...more })
          await insertSession(transaction, sampleSession({ tenantId: id, owner, state: 'pending' }))
        })
        return 'created'
      } catch (error) {
        if (!isHoldfastError(error)) throw error
        return { code: error.code, ...error.details }
      }
    }
    const counts = (owner: string) => store.read((sql) => countSessions(sql, id, owner))
    return { id, add, create, counts, check }
  }

  describe(`quotas on ${name}`, () => {
    test('fifty creates at once never pass the limit of the tenant', async () => {
      const { create, counts } = await tenant({ open_sessions: 7 })
      const outcomes = await Promise.all(Array.from({ length: 50 }, (_, index) => create(`owner-${index % 5}`)))
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(7)
      expect(outcomes.filter((outcome) => outcome !== 'created')).toEqual(
        Array.from({ length: 43 }, () => ({ code: 'quota_exceeded', quota: 'open_sessions', setting: 'quotas.sessions', limit: 7 })),
      )
      expect((await counts('owner-0')).open).toBe(7)
    })

    test('fifty creates at once never pass the limit of each owner, and one owner does not use up another’s', async () => {
      const { create, counts } = await tenant({ compute_sessions_per_owner: 3 })
      await Promise.all(Array.from({ length: 50 }, (_, index) => create(`owner-${index % 5}`)))
      for (let owner = 0; owner < 5; owner += 1) expect((await counts(`owner-${owner}`)).computeOfOwner).toBe(3)
    })

    test.each(ALL_STATES)('a session that is %s counts as the state says', async (state) => {
      const { add, counts } = await tenant({})
      await add('alice', state)
      await add('bob', state)
      const opens = ['pending', 'idle', 'active', 'suspended', 'closing'].includes(state) ? 1 : 0
      const computes = ['pending', 'idle', 'active'].includes(state) ? 1 : 0
      expect(await counts('alice')).toEqual({ open: opens * 2, openOfOwner: opens, compute: computes * 2, computeOfOwner: computes })
    })

    test('sessions of other tenants do not count', async () => {
      const other = await tenant({})
      await other.add('alice', 'idle')
      const { create } = await tenant({ open_sessions: 1 })
      expect(await create('alice')).toBe('created')
    })

    test('only what is added is checked: a resume adds compute, a session kept suspended adds none', async () => {
      const { create, add } = await tenant({ open_sessions: 2, compute_sessions: 1 })
      await add('alice', 'suspended')
      await add('alice', 'idle')
      expect(await create('alice', { adds: 'compute' })).toMatchObject({ quota: 'compute_sessions' })
      expect(await create('alice', { adds: 'session' })).toMatchObject({ quota: 'open_sessions', setting: 'quotas.sessions' })
      const roomy = await tenant({ open_sessions: 2, compute_sessions: 1 })
      await roomy.add('alice', 'idle')
      expect(await roomy.create('alice', { adds: 'session' })).toBe('created')
      const full = await tenant({ open_sessions: 1 })
      await full.add('alice', 'suspended')
      expect(await full.create('alice', { adds: 'compute' })).toBe('created')
    })

    test('what the tenant says stands before the default, also where it lifts a limit', async () => {
      const silent = await tenant({}, { open_sessions: 0 })
      expect(await silent.create('alice')).toMatchObject({ quota: 'open_sessions', setting: 'quotas.sessions', limit: 0 })
      const larger = await tenant({ open_sessions: 1 }, { open_sessions: 0 })
      expect([await larger.create('alice'), await larger.create('alice')]).toMatchObject(['created', { limit: 1 }])
      const lifted = await tenant({ open_sessions: null }, { open_sessions: 0 })
      expect(await lifted.create('alice')).toBe('created')
    })

    test('a refusal tells an owner its own number and nobody else’s', async () => {
      const { create, add } = await tenant({ open_sessions: 2, open_sessions_per_owner: 1 })
      await add('alice', 'idle')
      const own = { code: 'quota_exceeded', quota: 'open_sessions_per_owner', setting: 'quotas.sessions_per_owner', limit: 1 }
      expect(await create('alice', { askedBy: 'alice' })).toEqual({ ...own, used: 1 })
      expect(await create('alice', { askedBy: 'bob' })).toEqual(own)
      expect(await create('alice', { askedBy: null })).toEqual({ ...own, used: 1 })
      await add('bob', 'idle')
      const all = { code: 'quota_exceeded', quota: 'open_sessions', setting: 'quotas.sessions', limit: 2 }
      expect(await create('carol', { askedBy: 'carol' })).toEqual(all)
      expect(await create('carol', { askedBy: null })).toEqual({ ...all, used: 2 })
    })

    test('in a tenant that is being terminated nothing new begins, whatever its quotas', async () => {
      const { create } = await tenant({}, {}, 'terminating')
      for (const adds of ['session', 'compute', 'both'] as const) expect(await create('alice', { adds })).toEqual({ code: 'forbidden' })
    })

    test('a create that fails afterwards has used nothing', async () => {
      const { id, create, check } = await tenant({ open_sessions: 1 })
      const failing = store.write(async (transaction) => {
        await check(transaction, { tenantId: id, owner: 'alice', adds: 'both', askedBy: 'alice' })
        await insertSession(transaction, sampleSession({ tenantId: id }))
        throw new Error('after the insert')
      })
      await expect(failing).rejects.toThrow('after the insert')
      expect(await create('alice')).toBe('created')
    })
  })
}
