/** Without `admin_exec` no administrator of a tenant gets at the files of others, whichever way is tried. */
import { CreateKeyBody } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import type { NewOwner } from '../sessions/lifecycle/care.ts'

const under = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
if (under === undefined) throw new Error('bubblewrap is not among the backends')

describe.skipIf(under.skipReason !== null)(`admin_exec: false on bubblewrap${because(under)}`, () => {
  const adam = principal('adam', { role: 'tenant_admin', groups: ['admins'] })
  let ground: Ground
  let server: TestServer
  let [alice, admin, carol]: Person[] = []
  let id = ''

  beforeEach(async () => {
    ground = openGround(under)
    server = await ground.start()
    ;[alice, admin, carol] = [await personOf(server), await personOf(server, adam), await personOf(server, principal('carol'))]
    id = (await alice.sh('private', 'echo secret > note')).session.id
  })
  afterEach(() => ground.close())

  const person = (some: Person | undefined): Person => some ?? expect.fail('not open')
  const transferBy = async (who: Person | undefined, to: NewOwner) => {
    const { version } = await server.sessions.reads.open(person(who).caller, 'read', id)
    return (await server.sessions.steering.transfer(person(who).caller, id, { ...to, expectedVersion: version })).session
  }
  const read = (who: Person | undefined) => person(who).sh({ id }, 'cat note')
  const accept = async (who: Person | undefined, to: NewOwner) =>
    (await server.sessions.steering.acceptTransfer(person(who).caller, id, to)).session
  const eventTypes = async () =>
    (await server.events.readSession(person(alice).caller.visibility, id, 0, 100))
      .map(({ type }) => type)
      .filter((type) => type.includes('transfer'))

  const TO_ADAM = { owner: 'adam', ownerGroup: null }
  const TO_CAROL = { owner: 'carol', ownerGroup: null }

  test.each<[string, NewOwner]>([
    ['the administrator', TO_ADAM],
    ['a group of the administrator', { owner: 'alice', ownerGroup: 'admins' }],
    ['a third person', TO_CAROL],
  ])('a transfer to %s waits for the owner', async (_, to) => {
    const asked = await transferBy(admin, to)
    expect(asked).toMatchObject({
      owner: 'alice',
      ownerGroup: null,
      pendingTransfer: { owner: to.owner, owner_group: to.ownerGroup, by: 'adam' },
    })
    await expect(read(admin)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(read(carol)).rejects.toMatchObject({ code: 'not_found' })
    await expect(accept(admin, to)).rejects.toMatchObject({ code: 'forbidden' })
    expect((await read(alice)).stdout).toBe('secret\n')

    expect(await accept(alice, to)).toMatchObject({ ...to, pendingTransfer: null })
    const [reader] = to.owner === 'carol' ? [carol] : [admin]
    expect((await read(reader)).stdout).toBe('secret\n')
  })

  test('an owner accepts what it names, not what replaced it meanwhile, and may reject', async () => {
    await transferBy(admin, TO_CAROL)
    await transferBy(admin, TO_ADAM)
    await expect(accept(alice, TO_CAROL)).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await server.sessions.steering.rejectTransfer(person(alice).caller, id)).toMatchObject({ owner: 'alice', pendingTransfer: null })
    await expect(accept(alice, TO_ADAM)).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await eventTypes()).toEqual(['session.transfer_requested', 'session.transfer_requested', 'session.transfer_rejected'])
  })

  test('a platform administrator transfers at once, and the audit has who did', async () => {
    const root = await personOf(server, principal('root', { role: 'platform_admin', keyId: 'key_root' }))
    await transferBy(admin, TO_ADAM)
    expect(await transferBy(root, TO_CAROL)).toMatchObject({ owner: 'carol', pendingTransfer: null })
    expect((await read(carol)).stdout).toBe('secret\n')
    const audit = await server.store.read((sql) => sql.all(`SELECT body FROM audit WHERE chain = ? ORDER BY seq`, id))
    const transfers = audit
      .map(({ body }) => JSON.parse(String(body)) as { action: string; actor: object })
      .filter(({ action }) => action === 'session.transfer')
    expect(transfers.map(({ actor }) => actor)).toMatchObject([{ subject: 'adam' }, { subject: 'root', via: 'key_root' }])
  })

  test('an administrator gives away its own session at once, and every session where the policy says admin_exec', async () => {
    const own = await person(admin).sh('mine', 'true')
    const { version } = await server.sessions.reads.open(person(admin).caller, 'read', own.session.id)
    const { session: given } = await server.sessions.steering.transfer(person(admin).caller, own.session.id, {
      ...TO_CAROL,
      expectedVersion: version,
    })
    expect(given).toMatchObject({ owner: 'carol', pendingTransfer: null })
    const root = principal('root', { role: 'platform_admin' })
    const tenant = await server.plane.tenants.get(root, root.tenantId)
    await server.plane.tenants.setPolicy(root, tenant.id, tenant.version, { ...tenant.policy, admin_exec: true })
    expect(await transferBy(await personOf(server, adam), TO_ADAM)).toMatchObject({ owner: 'adam', pendingTransfer: null })
  })

  test('no key to the owner, to its groups, or for a service that speaks for it', async () => {
    const make = (wish: object) => server.plane.keys.create(adam, CreateKeyBody.parse({ name: 'k', ...wish }))
    for (const wish of [
      { subject: 'alice' },
      { subject: 's', kind: 'service', users: { list: ['alice'] } },
      { subject: 's', kind: 'service', users: { prefix: 'a' } },
    ])
      await expect(make(wish)).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('no session of the owner that a group of the administrator shares', async () => {
    await expect(person(admin).get('trap', { owner: 'alice', ownerGroup: 'admins' })).rejects.toMatchObject({ code: 'forbidden' })
  })
})
