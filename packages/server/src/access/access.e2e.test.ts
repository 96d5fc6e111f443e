/** Who may do what to a session, against every operation there is; and what is invisible cannot be told from what is not there. */
import { CreateTenantBody, HoldfastError } from '@holdfast/protocol'
import type { Problem } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../../test/servers/patience.ts'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { noPostgres, openPostgresForServers } from '../../../../test/servers/database.ts'
import type { PostgresForServers } from '../../../../test/servers/database.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import { randomId } from '../home/random-id.ts'
import { sampleSession } from '../sessions/contract/sample-session.ts'
import { insertExecution } from '../store/tables/executions.ts'
import { insertSession } from '../store/tables/sessions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { Principal } from './principal.ts'

const PEOPLE = {
  owner: { subject: 'alice' },
  mate: { subject: 'mia', groups: ['team', 'choir'] },
  viewer: { subject: 'vera', role: 'viewer' },
  operator: { subject: 'otto', role: 'operator' },
  admin: { subject: 'ada', role: 'tenant_admin' },
  'platform admin': { subject: 'root', role: 'platform_admin' },
} as const satisfies Record<string, Partial<Principal>>
type Who = keyof typeof PEOPLE

/** Nobody of these sees anything of alice's, whatever they are elsewhere. */
const UNSEEING = {
  'another owner': { tenant: 'acme', subject: 'bob' },
  'a member of another group': { tenant: 'acme', subject: 'carl', groups: ['choir', ''] },
  'her namesake in another tenant': { tenant: 'other', subject: 'alice' },
  'a mate of a group of the same name in another tenant': { tenant: 'other', subject: 'mia', groups: ['team'] },
  'a viewer of another tenant': { tenant: 'other', subject: 'vera', role: 'viewer' },
  'an operator of another tenant': { tenant: 'other', subject: 'otto', role: 'operator' },
  'an administrator of another tenant': { tenant: 'other', subject: 'ada', role: 'tenant_admin' },
  'a platform administrator who speaks in another tenant': { tenant: 'other', subject: 'root', role: 'platform_admin' },
} as const

interface At {
  readonly server: TestServer
  readonly person: Person
  readonly id: string
  readonly executionId: string
}

const soon = () => AbortSignal.timeout(PATIENCE_MS)
const TRUE = { command: { argv: ['true'] } }
/** The session is suspended and has one execution that ended; each operation gets a session of its own. */
const OPERATIONS = {
  read: ({ server, person, id }) => server.sessions.reads.open(person.caller, 'read', id),
  'read events': ({ server, person, id }) => server.events.readSession(person.caller.visibility, id, 0, 10),
  'follow events': async ({ server, person, id }) => {
    const signal = AbortSignal.timeout(100)
    for await (const event of server.events.followSession(person.caller.visibility, id, 0, signal)) return event
    return null
  },
  'list executions': ({ server, person, id }) => server.sessions.commands.list(person.caller, id, null, 10),
  'read an execution': ({ server, person, id, executionId }) => server.sessions.commands.get(person.caller, id, executionId),
  'read output': ({ server, person, id, executionId }) => server.sessions.commands.output(person.caller, id, executionId),
  run: ({ server, person, id }) =>
    server.sessions.commands.run(person.caller, { id }, TRUE, soon(), ({ finish }) => finish(() => undefined)),
  start: ({ server, person, id }) => server.sessions.commands.start(person.caller, { id }, TRUE, soon()),
  'cancel an execution': ({ server, person, id, executionId }) => server.sessions.commands.cancel(person.caller, id, executionId),
  files: ({ server, person, id }) => server.sessions.reads.open(person.caller, 'files', id),
  relabel: ({ server, person, id }) => server.sessions.steering.relabel(person.caller, id, { labels: { a: 'b' } }),
  refresh: ({ server, person, id }) => server.sessions.steering.refresh(person.caller, id, {}),
  suspend: ({ server, person, id }) => server.sessions.steering.suspend(person.caller, id),
  resume: ({ server, person, id }) => server.sessions.steering.resume(person.caller, id),
  'cancel work': ({ server, person, id }) => server.sessions.steering.cancelWork(person.caller, id),
  cancel: ({ server, person, id }) => server.sessions.steering.cancel(person.caller, id),
  release: ({ server, person, id }) => server.sessions.steering.release(person.caller, id),
  hold: ({ server, person, id }) => server.sessions.steering.hold(person.caller, id, 'because'),
  unhold: ({ server, person, id }) => server.sessions.steering.unhold(person.caller, id),
  transfer: ({ server, person, id }) =>
    server.sessions.steering.transfer(person.caller, id, { owner: 'zoe', ownerGroup: null, expectedVersion: 1 }),
  'reject a transfer': ({ server, person, id }) => server.sessions.steering.rejectTransfer(person.caller, id),
} as const satisfies Record<string, (at: At) => Promise<unknown>>
type Operation = keyof typeof OPERATIONS

const COLUMNS: readonly Who[] = ['owner', 'mate', 'viewer', 'operator', 'admin', 'platform admin']
/** `y`: done. `-`: forbidden. One letter for each of the columns. */
const EXPECTED: Readonly<Record<Operation, string>> = {
  read: 'yyyyyy',
  'read events': 'yyyyyy',
  'follow events': 'yyyyyy',
  'list executions': 'yyyyyy',
  'read an execution': 'yyyyyy',
  'read output': 'yy----',
  run: 'yy----',
  start: 'yy----',
  'cancel an execution': 'yy----',
  files: 'yy----',
  relabel: 'yy--yy',
  refresh: 'yy-yyy',
  suspend: 'yy-yyy',
  resume: 'yy-yyy',
  'cancel work': 'yy-yyy',
  cancel: 'yy-yyy',
  release: 'yy-yyy',
  hold: '---yyy',
  unhold: '---yyy',
  transfer: '----yy',
  'reject a transfer': 'yy--yy',
}

const names = <T extends string>(of: Readonly<Record<T, unknown>>): readonly T[] =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are its keys
  Object.keys(of) as T[]

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`access on ${under.kind}${because(under)}`, () => {
    describe.each(['sqlite', 'postgres'] as const)('and %s', (dialect) => {
      let postgres: PostgresForServers | null = null
      let ground: Ground | null = null
      let server: TestServer
      const tenants = new Map<string, string>()

      describe.skipIf(dialect === 'postgres' && noPostgres !== null)(
        noPostgres === null || dialect === 'sqlite' ? 'there' : noPostgres,
        () => {
          beforeAll(async () => {
            if (dialect === 'postgres') postgres = openPostgresForServers()
            ground = openGround(under, (await postgres?.newDatabase()) ?? null)
            server = await ground.start()
            const root = principal('root', { role: 'platform_admin' })
            for (const name of ['acme', 'other'])
              tenants.set(name, (await server.plane.tenants.create(root, CreateTenantBody.parse({ name }))).id)
          })
          afterAll(async () => {
            await ground?.close()
            await postgres?.stop()
          })

          const tenantId = (name: string) => tenants.get(name) ?? ''
          const known = (who: Who) => personOf(server, principal('', { tenantId: tenantId('acme'), ...PEOPLE[who] }))
          const unseeing = (who: keyof typeof UNSEEING) => {
            const { tenant, ...rest } = UNSEEING[who]
            return personOf(server, principal('', { tenantId: tenantId(tenant), ...rest }))
          }
          /** A suspended session of alice's, with one execution. */
          const givenSession = async (
            differs: Partial<SessionRow> = {},
          ): Promise<{ readonly id: string; readonly executionId: string }> => {
            const now = Date.now()
            const session = sampleSession({
              ...{ tenantId: tenantId('acme'), owner: 'alice', ownerGroup: 'team', state: 'suspended', suspendReason: 'idle' },
              ...{ serverId: server.home.serverId, wish: {}, createdAt: now, activityAt: now, suspendedAt: now },
              ...{ retentionMs: 3_600_000, recordMs: 3_600_000, deadlineAt: now + 3_600_000, deadline: 'retention', ...differs },
            })
            const executionId = randomId('exe')
            await server.store.write(async (transaction) => {
              expect(await insertSession(transaction, session)).toBe(true)
              await insertExecution(transaction, {
                ...{
                  id: executionId,
                  sessionId: session.id,
                  tenantId: session.tenantId,
                  sandboxId: 'sbx_0000000000000000',
                  incarnation: 1,
                },
                ...{ kind: 'command', name: null, actor: 'alice', timeoutMs: null, status: 'completed', exitCode: 0, signal: null },
                ...{ cancelAt: null, startedAt: now, endedAt: now, durationMs: 1, outputSeq: 0 },
              })
            })
            return { id: session.id, executionId }
          }

          describe.each(names(OPERATIONS))('to %s', (operation) => {
            test('is for whom the table says, on a session of the group', async () => {
              const outcomes = await Promise.all(
                COLUMNS.map(async (who) => {
                  const at = { server, person: await known(who), ...(await givenSession()) }
                  const problem = await problemOf(() => OPERATIONS[operation](at))
                  if (problem === null) return 'y'
                  return problem.code === 'forbidden' ? '-' : problem.code
                }),
              )
              expect(outcomes.join('')).toBe(EXPECTED[operation])
            })

            test('is for a mate only where the session belongs to the group', async () => {
              const at = { server, person: await known('mate') }
              const foreign = await givenSession({ ownerGroup: null })
              await expectAbsent(operation, at, foreign)
              await expectAbsent(operation, at, await givenSession({ ownerGroup: 'band' }))
            })

            test.each(names(UNSEEING))('gives %s the same answer as for a session that never was', async (who) => {
              const person = await unseeing(who)
              await expectAbsent(operation, { server, person }, await givenSession())
              await expectAbsent(
                operation,
                { server, person },
                await givenSession({ ownerGroup: null, state: 'released', closedAt: Date.now() }),
              )
            })
          })

          async function expectAbsent(
            operation: Operation,
            at: Pick<At, 'server' | 'person'>,
            foreign: Pick<At, 'id' | 'executionId'>,
          ): Promise<void> {
            const before = await rowOf(foreign.id)
            const real = await problemOf(() => OPERATIONS[operation]({ ...at, ...foreign }))
            const made = await problemOf(() => OPERATIONS[operation]({ ...at, id: randomId('ses'), executionId: randomId('exe') }))
            const mixed = await problemOf(() => OPERATIONS[operation]({ ...at, id: randomId('ses'), executionId: foreign.executionId }))
            expect(real).toMatchObject({ code: 'not_found', status: 404 })
            expect(real).toEqual(made)
            expect(mixed).toEqual(made)
            expect(JSON.stringify(real)).not.toContain(foreign.id)
            expect(await rowOf(foreign.id)).toEqual(before)
          }

          const rowOf = (id: string) => server.store.read((sql) => sql.get('SELECT * FROM sessions WHERE id = ?', id))

          test('an execution of another session is not there, whether it is one’s own or not', async () => {
            const alice = await known('owner')
            const [mine, mineToo] = [await givenSession(), await givenSession()]
            const theirs = await givenSession({ owner: 'bob', ownerGroup: null })
            for (const operation of ['read an execution', 'read output', 'cancel an execution'] as const) {
              const ask = (executionId: string) =>
                problemOf(() => OPERATIONS[operation]({ server, person: alice, id: mine.id, executionId }))
              const made = await ask(randomId('exe'))
              expect(made).toMatchObject({ code: 'not_found' })
              expect(await ask(theirs.executionId)).toEqual(made)
              expect(await ask(mineToo.executionId)).toEqual(made)
            }
          })

          test('administrators look into the work of others only where the tenant says so; operators and viewers never', async () => {
            const root = principal('root', { role: 'platform_admin' })
            const tenant = await server.plane.tenants.get(root, tenantId('acme'))
            const opened = await server.plane.tenants.setPolicy(root, tenant.id, tenant.version, { ...tenant.policy, admin_exec: true })
            try {
              for (const operation of ['read output', 'run', 'start', 'cancel an execution', 'files'] as const) {
                for (const [who, code] of [
                  ['admin', null],
                  ['platform admin', null],
                  ['operator', 'forbidden'],
                  ['viewer', 'forbidden'],
                ] as const) {
                  const at = { server, person: await known(who), ...(await givenSession()) }
                  expect((await problemOf(() => OPERATIONS[operation](at)))?.code ?? null, `${operation} by ${who}`).toBe(code)
                }
                const stranger = await unseeing('an administrator of another tenant')
                await expectAbsent(operation, { server, person: stranger }, await givenSession())
              }
            } finally {
              await server.plane.tenants.setPolicy(root, tenant.id, opened.version, tenant.policy)
            }
          })

          describe('lists', () => {
            const key = `shared-${crypto.randomUUID()}`
            let ofAlice: SessionRow
            let ofAll: readonly string[]
            beforeAll(async () => {
              const alice = await known('owner')
              await alice.sh(key, 'true', { ask: { ownerGroup: null } })
              ofAlice = (await alice.get(key)).session
              ofAll = (
                await Promise.all([givenSession(), givenSession({ ownerGroup: null }), givenSession({ owner: 'mia', ownerGroup: null })])
              ).map(({ id }) => id)
            })
            const listed = async (
              person: Person,
              filter: object,
              after: { readonly createdAt: number; readonly id: string } | null = null,
            ) =>
              (await server.sessions.reads.list(person.caller, filter, after, 1000)).map(({ id, owner, ownerGroup, tenantId: tenant }) => ({
                ...{ id, owner, ownerGroup, tenant },
              }))

            test('show members their own and their groups’, and the others of the tenant everything', async () => {
              const [alice, mate, viewer] = await Promise.all([known('owner'), known('mate'), known('viewer')])
              expect((await listed(alice, {})).every(({ owner }) => owner === 'alice')).toBe(true)
              expect((await listed(mate, {})).every(({ owner, ownerGroup }) => owner === 'mia' || ownerGroup === 'team')).toBe(true)
              const all = (await listed(viewer, {})).map(({ id }) => id)
              expect(all).toEqual(expect.arrayContaining([...ofAll, ofAlice.id]))
              expect((await listed(viewer, {})).every(({ tenant }) => tenant === tenantId('acme'))).toBe(true)
            })

            test.each(names(UNSEEING))('show %s nothing of hers, with any filter and from any cursor', async (who) => {
              const person = await unseeing(who)
              const filters = [
                {},
                { owner: 'alice' },
                { keyHash: ofAlice.keyHash },
                { sandboxId: ofAlice.sandboxId ?? '' },
                { states: ['idle', 'active', 'suspended'] },
                { owner: 'alice', keyHash: ofAlice.keyHash, states: ['idle', 'active'] },
              ]
              for (const filter of filters)
                for (const after of [null, ofAlice, { createdAt: Number.MAX_SAFE_INTEGER, id: '~' }])
                  expect(
                    (await listed(person, filter, after)).filter(({ tenant, owner }) => tenant === tenantId('acme') && owner === 'alice'),
                  ).toEqual([])
            })

            test.each(names(UNSEEING))('of events show %s nothing of hers, nor where hers stand', async (who) => {
              const person = await unseeing(who)
              const { visibility } = person.caller
              const hers = await server.events.readSession((await known('owner')).caller.visibility, ofAlice.id, 0, 100)
              const [first] = hers
              const seen = await server.events.readTenant(visibility, 'oldest', 1000)
              expect(seen.filter(({ session_id: id }) => id === ofAlice.id)).toEqual([])
              const read = (after: string) => problemOf(() => server.events.readTenant(visibility, { after }, 10))
              const foreign = await read(first?.id ?? '')
              expect(foreign).not.toBeNull()
              expect(withoutCursor(foreign, first?.id ?? '')).toEqual(
                withoutCursor(await read('evt_0000000000000000'), 'evt_0000000000000000'),
              )
            })
          })

          test('followers hear only what they may see, in whatever order it happens', async () => {
            const [alice, bob] = [await known('owner'), await unseeing('another owner')]
            const stop = new AbortController()
            const heard: string[] = []
            const isHeard = Promise.withResolvers<void>()
            const following = (async () => {
              for await (const event of server.events.followTenant(bob.caller.visibility, 'now', stop.signal)) {
                heard.push(event.session_id)
                if (event.type === 'execution.ended') isHeard.resolve()
              }
            })()
            const key = crypto.randomUUID()
            const hers = await alice.sh(key, 'true')
            const his = await bob.sh(key, 'true')
            await isHeard.promise
            stop.abort()
            await following
            expect(new Set(heard)).toEqual(new Set([his.session.id]))
            expect(his.session.id).not.toBe(hers.session.id)
          })

          test('a key that somebody else uses is simply free', async () => {
            const alice = await known('owner')
            const key = crypto.randomUUID()
            const hers = await alice.get(key, { wish: { limits: { pids: 64 } } })
            for (const who of names(UNSEEING)) {
              const { tenant: _, ...rest } = UNSEEING[who]
              if ('role' in rest && rest.role === 'viewer') continue
              const person = await unseeing(who)
              const got = await person.get(key, { wish: { limits: { pids: 65 } } })
              expect([got.isNew, got.session.id === hers.session.id, got.session.owner], who).toEqual([true, false, rest.subject])
              await server.sessions.steering.cancel(person.caller, got.session.id)
              await server.sessions.sweep()
            }
            await expect(alice.get(key, { wish: { limits: { pids: 65 } } })).rejects.toMatchObject({
              code: 'session_incompatible',
              details: { fields: ['limits.pids'] },
            })
            await server.sessions.steering.cancel(alice.caller, hers.session.id)
          })

          test('a session for somebody else is made by administrators, and refused to others alike whether there is one or not', async () => {
            const alice = await known('owner')
            const key = crypto.randomUUID()
            const hers = await alice.get(key)
            const ask = async (who: Who, wanted: string, owner: string) => {
              const person = await known(who)
              const outcome = await problemOf(async () => {
                const { session } = await person.get(wanted, { owner })
                if (session.id !== hers.session.id) await server.sessions.steering.cancel(person.caller, session.id)
              })
              return outcome
            }
            for (const who of ['mate', 'operator', 'viewer'] as const) {
              const refused = await ask(who, key, 'alice')
              expect(refused).toMatchObject({ code: 'forbidden' })
              expect(await ask(who, crypto.randomUUID(), 'alice')).toEqual(refused)
            }
            for (const who of ['admin', 'platform admin'] as const) expect(await ask(who, key, 'alice'), who).toBeNull()
            // A group that one is not in cannot be given a session either.
            expect(await problemOf(() => alice.get(crypto.randomUUID(), { ownerGroup: 'team' }))).toMatchObject({ code: 'forbidden' })
            await server.sessions.steering.cancel(alice.caller, hers.session.id)
          })

          test('who was given a session has it, and who gave it has it no more', async () => {
            const [alice, admin, zoe] = [
              await known('owner'),
              await known('platform admin'),
              await personOf(server, principal('zoe', { tenantId: tenantId('acme') })),
            ]
            const { id } = await givenSession({ ownerGroup: null })
            const { version } = await server.sessions.reads.open(admin.caller, 'read', id)
            const wished = { owner: 'zoe', ownerGroup: null, expectedVersion: version }
            await server.sessions.steering.transfer(admin.caller, id, wished)
            expect(await server.sessions.reads.open(zoe.caller, 'exec', id)).toMatchObject({ owner: 'zoe' })
            for (const operation of names(OPERATIONS))
              await expectAbsent(operation, { server, person: alice }, { id, executionId: randomId('exe') })
          })
        },
      )
    })
  })
}

/** What a caller is told, whole; `null` when it was done. */
async function problemOf(work: () => Promise<unknown>): Promise<Problem | null> {
  try {
    await work()
    return null
  } catch (error) {
    if (error instanceof HoldfastError) return error.toProblem()
    throw error
  }
}

/** A caller's own words may come back to it. */
function withoutCursor(problem: Problem | null, cursor: string): unknown {
  return JSON.parse(JSON.stringify(problem).replaceAll(cursor, 'CURSOR'))
}
