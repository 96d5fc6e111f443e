/** Every role × every verb × every relation, against a table written apart from the one the server decides by. */
import { isHoldfastError, ROLES } from '@holdfast/protocol'
import type { Role } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SESSION_VERBS } from '../sessions/caller.ts'
import type { SessionVerb } from '../sessions/caller.ts'
import { sampleSession } from '../sessions/contract/sample-session.ts'
import { migrate } from '../store/migrate.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import { findSession, insertSession } from '../store/tables/sessions.ts'
import { insertTenant } from '../store/tables/tenants.ts'
import { authorize, callerOf } from './authorize.ts'
import type { Principal } from './principal.ts'
import { ADMIN_VERBS } from './roles.ts'
import type { AdminVerb } from './roles.ts'

/**
 * What becomes of a verb on a session that is own, of an own group, of somebody else, of another tenant: `y` done, `n` forbidden,
 * `-` not there.
 */
const ADMINISTRATOR = (others: 'y' | 'n'): Record<SessionVerb, string> => ({
  read: 'yyy-',
  'read-output': `yy${others}-`,
  exec: `yy${others}-`,
  files: `yy${others}-`,
  update: 'yyy-',
  refresh: 'yyy-',
  suspend: 'yyy-',
  resume: 'yyy-',
  'cancel-work': 'yyy-',
  cancel: 'yyy-',
  release: 'yyy-',
  transfer: 'yyy-',
  'transfer-now': `yy${others}-`,
  'accept-transfer': 'yyn-',
  'reject-transfer': 'yyy-',
  hold: 'yyy-',
})
const EXPECTED: Record<Role, (others: 'y' | 'n') => Record<SessionVerb, string>> = {
  viewer: () => ({
    read: 'yyy-',
    'read-output': 'nnn-',
    exec: 'nnn-',
    files: 'nnn-',
    update: 'nnn-',
    refresh: 'nnn-',
    suspend: 'nnn-',
    resume: 'nnn-',
    'cancel-work': 'nnn-',
    cancel: 'nnn-',
    release: 'nnn-',
    transfer: 'nnn-',
    'transfer-now': 'nnn-',
    'accept-transfer': 'nnn-',
    'reject-transfer': 'nnn-',
    hold: 'nnn-',
  }),
  member: () => ({
    read: 'yy--',
    'read-output': 'yy--',
    exec: 'yy--',
    files: 'yy--',
    update: 'yy--',
    refresh: 'yy--',
    suspend: 'yy--',
    resume: 'yy--',
    'cancel-work': 'yy--',
    cancel: 'yy--',
    release: 'yy--',
    transfer: 'nn--',
    'transfer-now': 'nn--',
    'accept-transfer': 'yy--',
    'reject-transfer': 'yy--',
    hold: 'nn--',
  }),
  operator: () => ({
    read: 'yyy-',
    'read-output': 'yyn-',
    exec: 'yyn-',
    files: 'yyn-',
    update: 'yyn-',
    refresh: 'yyy-',
    suspend: 'yyy-',
    resume: 'yyy-',
    'cancel-work': 'yyy-',
    cancel: 'yyy-',
    release: 'yyy-',
    transfer: 'nnn-',
    'transfer-now': 'nnn-',
    'accept-transfer': 'yyn-',
    'reject-transfer': 'yyn-',
    hold: 'yyy-',
  }),
  tenant_admin: ADMINISTRATOR,
  // May also set `admin_exec`, so a transfer does not wait for anybody.
  platform_admin: (others) => ({ ...ADMINISTRATOR(others), 'transfer-now': 'yyy-' }),
}

/** For itself, for an own group, for a group it is not in, for somebody else. */
const CREATES: Record<Role, string> = { viewer: 'nnnn', member: 'yynn', operator: 'yynn', tenant_admin: 'yyyy', platform_admin: 'yyyy' }

const ADMINISTERS: Record<AdminVerb, Record<Role, 'tenant' | 'own' | 'forbidden'>> = {
  'read-audit': { viewer: 'tenant', member: 'own', operator: 'tenant', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'read-quotas': { viewer: 'tenant', member: 'own', operator: 'tenant', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'read-sandboxes': { viewer: 'tenant', member: 'own', operator: 'tenant', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'read-metrics': { viewer: 'forbidden', member: 'forbidden', operator: 'tenant', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'read-skills': { viewer: 'tenant', member: 'tenant', operator: 'tenant', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'manage-skills': { viewer: 'forbidden', member: 'forbidden', operator: 'tenant', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'read-mcp': { viewer: 'tenant', member: 'tenant', operator: 'tenant', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'manage-mcp': { viewer: 'forbidden', member: 'forbidden', operator: 'forbidden', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'manage-profiles': { viewer: 'forbidden', member: 'forbidden', operator: 'forbidden', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'manage-keys': { viewer: 'forbidden', member: 'forbidden', operator: 'forbidden', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'make-keys-to-work': { viewer: 'forbidden', member: 'forbidden', operator: 'forbidden', tenant_admin: 'own', platform_admin: 'tenant' },
  'manage-webhooks': { viewer: 'forbidden', member: 'forbidden', operator: 'forbidden', tenant_admin: 'tenant', platform_admin: 'tenant' },
  'manage-tenants': {
    viewer: 'forbidden',
    member: 'forbidden',
    operator: 'forbidden',
    tenant_admin: 'forbidden',
    platform_admin: 'tenant',
  },
}

const OWN = sampleSession({ tenantId: 'tnt_a', owner: 'alice' })
const OF_GROUP = sampleSession({ tenantId: 'tnt_a', owner: 'bob', ownerGroup: 'red' })
const OF_OTHER = sampleSession({ tenantId: 'tnt_a', owner: 'bob', ownerGroup: 'blue' })
/** Same owner, same group: only the tenant differs. */
const OF_OTHER_TENANT = sampleSession({ tenantId: 'tnt_b', owner: 'alice', ownerGroup: 'red' })
const RELATIONS = [OWN, OF_GROUP, OF_OTHER, OF_OTHER_TENANT]

const alice = (role: Role): Principal => ({
  ...{ tenantId: 'tnt_a', subject: 'alice', groups: ['red', 'green'], role, kind: 'user', keyId: 'key_1', onBehalfOf: null },
})

function reachOrRefusal(principal: Principal, verb: AdminVerb): string {
  try {
    return authorize(principal, verb)
  } catch (error) {
    if (isHoldfastError(error)) return error.code
    throw error
  }
}

let store: Store
beforeAll(async () => {
  store = await openSqliteStore(':memory:')
  await migrate(store)
  await store.write(async (transaction) => {
    for (const id of ['tnt_a', 'tnt_b']) {
      const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
      await insertTenant(transaction, { id, name: id, state: 'active', policy, quotas: {}, version: 1, createdAt: 0 })
    }
    for (const session of RELATIONS) await insertSession(transaction, session)
  })
})
afterAll(() => store.close())

describe.each(ROLES)('a %s', (role) => {
  describe.each([
    ['without admin_exec', false],
    ['with admin_exec', true],
  ])('in a tenant %s', (_name, adminExec) => {
    const caller = callerOf(alice(role), { admin_exec: adminExec })

    test.each(SESSION_VERBS)('gets what the table says for %s', async (verb) => {
      let outcome = ''
      for (const { id } of RELATIONS) {
        const found = await store.read((sql) => findSession(sql, caller.visibility, id))
        if (found === null) outcome += '-'
        else outcome += caller.may(verb, found) ? 'y' : 'n'
      }
      expect(outcome).toBe(EXPECTED[role](adminExec ? 'y' : 'n')[verb])
    })

    test('creates for whom the table says', () => {
      const wishes = [
        ['alice', null],
        ['alice', 'red'],
        ['alice', 'blue'],
        ['bob', null],
      ] as const
      const outcome = wishes.map(([owner, group]) => (caller.mayCreate(owner, group) ? 'y' : 'n')).join('')
      expect(outcome).toBe(CREATES[role])
    })
  })

  test.each([false, true])('puts sessions of others into a group only where it may look into them: admin_exec %s', (adminExec) => {
    const mayLook = role === 'platform_admin' || (role === 'tenant_admin' && adminExec)
    expect(callerOf(alice(role), { admin_exec: adminExec }).mayCreate('bob', 'red')).toBe(mayLook)
  })

  test.each(ADMIN_VERBS)('reaches as far as the table says with %s', (verb) => {
    expect(reachOrRefusal(alice(role), verb)).toBe(ADMINISTERS[verb][role])
  })
})

test('a member of a group creates for nobody else in it', () => {
  expect(callerOf(alice('member'), { admin_exec: true }).mayCreate('bob', 'red')).toBe(false)
})

test('a session of no group belongs to nobody’s group', () => {
  const caller = callerOf({ ...alice('operator'), groups: ['null', ''] }, { admin_exec: false })
  expect(caller.may('exec', { owner: 'bob', ownerGroup: null })).toBe(false)
})

test('the actor is the subject, by the key that spoke; whom a service speaks for is a user', () => {
  const service: Principal = { ...alice('member'), kind: 'service' }
  expect(callerOf(service, { admin_exec: false }).actor).toEqual({ type: 'service', subject: 'alice', via: 'key_1' })
  expect(callerOf({ ...service, onBehalfOf: 'alice' }, { admin_exec: false }).actor).toEqual({
    type: 'user',
    subject: 'alice',
    via: 'key_1',
  })
})
