/** When every place for a sandbox is taken, idle sandboxes make room and work is left alone. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { noPostgres, openPostgresForServers } from '../../../../test/servers/database.ts'
import type { PostgresForServers } from '../../../../test/servers/database.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'

/** `npm run test:long -- places` tries 100. */
const PLACES = Number(process.env['HOLDFAST_TEST_PLACES'] ?? 6)
/** Longer than a session must be idle before it may lose its place. */
const IDLE_MS = 11_000
const PLATFORM = principal('admin', { role: 'platform_admin' })
const under = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
if (under === undefined) throw new Error('bubblewrap is not among the backends')

describe.skipIf(under.skipReason !== null)(`places on bubblewrap${because(under)}`, () => {
  describe.each(['sqlite', 'postgres'] as const)('and %s', (dialect) => {
    let postgres: PostgresForServers | null = null
    let ground: Ground
    let server: TestServer
    let alice: Person

    beforeAll(async () => {
      if (dialect === 'postgres' && noPostgres === null) postgres = openPostgresForServers()
    })
    afterAll(() => postgres?.stop())
    beforeEach(async ({ skip }) => {
      if (dialect === 'postgres' && postgres === null) skip(noPostgres ?? 'no PostgreSQL')
      ground = openGround(under, (await postgres?.newDatabase()) ?? null)
      server = await ground.start('one', { HOLDFAST_SESSIONS_MAX: `${PLACES}` })
      alice = await personOf(server)
    })
    afterEach(() => ground.close())

    const keys = (prefix: string, count = PLACES) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
    const useAll = (person: Person, names: readonly string[]) =>
      Promise.all(names.map((key) => person.sh(key, `echo ${key} >> note; cat note`)))
    const rowsOf = (person: Person) => server.sessions.reads.list(person.caller, {}, null, 1000)
    const suspended = async (person: Person) => (await rowsOf(person)).filter(({ state }) => state === 'suspended')
    const strangerOf = async (name: string): Promise<Person> => {
      const { id } = await server.plane.tenants.create(PLATFORM, {
        ...{ name, policy: { admin_exec: false, packing: { profiles: [] }, ceilings: {} }, quotas: {} },
      })
      return personOf(server, principal('bob', { tenantId: id }))
    }

    test('serves twice as many conversations as there are places, and each finds its files again', async () => {
      const [first, second] = [keys('first', PLACES - 1), keys('second', PLACES - 1)]
      const bob = await strangerOf('second')
      const busy = await alice.start('busy', 'sleep 600')
      await useAll(alice, first)
      ground.clock.pass(IDLE_MS)
      const told = await useAll(alice, second)
      expect(told.map(({ stdout, exitCode }) => [stdout, exitCode])).toEqual(second.map((key) => [`${key}\n`, 0]))
      expect((await suspended(alice)).map(({ key, suspendReason }) => `${key} ${suspendReason}`).toSorted()).toEqual(
        first.map((key) => `${key} capacity`).toSorted(),
      )
      expect((await server.sandboxes()).length).toBeLessThanOrEqual(PLACES)

      ground.clock.pass(IDLE_MS)
      for (const { stdout, session } of await useAll(alice, first)) {
        expect(stdout).toBe(`${session.key}\n${session.key}\n`)
        expect(session.notice).toContain('sessions.max')
      }
      const row = (await rowsOf(alice)).find(({ key }) => key === first[0])
      const events = await server.events.readSession(alice.caller.visibility, row?.id ?? '', 0, 100)
      expect(events.filter(({ type }) => type === 'session.suspended').map(({ reason }) => reason)).toEqual(['capacity'])

      ground.clock.pass(IDLE_MS)
      expect(await bob.sh('hello', 'echo in')).toMatchObject({ stdout: 'in\n' })
      expect((await server.sandboxes()).length).toBeLessThanOrEqual(PLACES)
      expect((await server.sessions.commands.get(alice.caller, busy.session.id, busy.executionId)).status).toBe('running')
    })

    const onSqlite = test.skipIf(dialect === 'postgres')
    onSqlite('suspends only what is idle, and refuses with the reason when nothing is', async () => {
      const signal = new AbortController()
      const [running, service, child, held, watched, idle] = keys('work')
      const ids = new Map((await useAll(alice, keys('work'))).map(({ session }) => [session.key, session.id]))
      const at = (key = '') => ({ caller: alice.caller, sessionId: ids.get(key) ?? '', signal: signal.signal })
      const { executionId } = await alice.start(running ?? '', 'sleep 600')
      await alice.start(service ?? '', 'sleep 600', { name: 'server' })
      await alice.sh(child ?? '', '(sleep 600 >/dev/null 2>&1 </dev/null &)')
      const operator = await server.plane.callerOf(principal('olga', { role: 'operator' }))
      await server.sessions.steering.hold(operator, ids.get(held ?? '') ?? '', 'investigation')
      const watch = await server.sessions.files.watch(at(watched), '.', { recursive: false })
      ground.clock.pass(IDLE_MS)

      await alice.sh('newcomer', 'true')
      expect((await suspended(alice)).map(({ key }) => key)).toEqual([idle])
      await alice.start('newcomer', 'sleep 600')
      ground.clock.pass(IDLE_MS)
      await expect(alice.sh('too-many', 'true')).rejects.toMatchObject({
        code: 'capacity_exhausted',
        message: expect.stringContaining('sessions.max'),
        details: { setting: 'sessions.max', limit: PLACES },
      })
      expect((await suspended(alice)).map(({ key }) => key)).toEqual([idle])
      expect((await server.sessions.commands.get(alice.caller, ids.get(running ?? '') ?? '', executionId)).status).toBe('running')

      watch.end()
      ground.clock.pass(IDLE_MS)
      await alice.sh('too-many', 'true')
      expect((await suspended(alice)).map(({ key }) => key).toSorted()).toEqual([watched, idle])
    })

    onSqlite('serves a second tenant while the first holds every place, and takes from the largest', async () => {
      const bob = await strangerOf('second')
      await useAll(alice, keys('first'))
      ground.clock.pass(IDLE_MS)
      await bob.sh('hello', 'true')
      expect(await suspended(alice)).toHaveLength(1)
      await useAll(bob, ['b-1', 'b-2'])
      expect(await suspended(alice)).toHaveLength(3)
      // At its share of three, a tenant makes room by itself.
      ground.clock.pass(IDLE_MS)
      await bob.sh('b-3', 'true')
      expect(await suspended(alice)).toHaveLength(3)
      expect((await suspended(bob)).map(({ key }) => key)).toEqual(['hello'])
    })

    test('callers who meet at one new key cost one place', async () => {
      await useAll(alice, keys('first'))
      ground.clock.pass(IDLE_MS)
      await Promise.all(Array.from({ length: 40 }, () => alice.get('meeting')))
      expect(await suspended(alice)).toHaveLength(1)
    })

    onSqlite('work that arrives while its session is being suspended is done', async () => {
      await useAll(alice, keys('first'))
      for (let round = 0; round < 5; round += 1) {
        ground.clock.pass(IDLE_MS)
        const served = (await rowsOf(alice)).filter(({ state }) => state === 'idle' || state === 'active')
        const [next] = served.toSorted((left, right) => left.activityAt - right.activityAt)
        const told = await Promise.all([`new-${round}`, next?.key ?? ''].map((key) => alice.sh(key, 'echo done')))
        expect(told.map(({ stdout }) => stdout)).toEqual(['done\n', 'done\n'])
      }
    })

    onSqlite('a newcomer waits for a session that is about to be idle', async () => {
      await useAll(alice, keys('first'))
      ground.clock.pass(9_500)
      expect(await alice.sh('newcomer', 'echo in')).toMatchObject({ stdout: 'in\n' })
    })

    onSqlite('refuses at once where the operator wants that', async () => {
      const strict = await ground.start('strict', { HOLDFAST_SESSIONS_MAX: '1', HOLDFAST_SESSIONS_WHEN_FULL: 'refuse' })
      const carol = await personOf(strict, principal('carol'))
      await carol.sh('one', 'true')
      ground.clock.pass(IDLE_MS)
      await expect(carol.sh('two', 'true')).rejects.toMatchObject({ code: 'capacity_exhausted', details: { setting: 'sessions.max' } })
    })
  })
})
