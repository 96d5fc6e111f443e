/** Deadlines over real sandboxes: busy sessions stay, polled ones go, and a thousand at once stand in nobody's way. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { noPostgres, openPostgresForServers } from '../../../../test/servers/database.ts'
import type { PostgresForServers } from '../../../../test/servers/database.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import { attachSandbox } from '../sandboxes/live-sandbox.ts'
import { insertSession } from '../store/tables/sessions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { sampleSession } from './contract/sample-session.ts'

const IDLE_MS = 600_000
const EXPIRED = 1000
const SETTINGS = { HOLDFAST_SESSIONS_IDLE_SECONDS: String(IDLE_MS / 1000) }

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`deadlines on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person

    const start = async (storeUrl: string | null) => {
      ground = openGround(under, storeUrl)
      ground.clock.stop()
      server = await ground.start('one', SETTINGS)
      alice = await personOf(server)
    }
    afterEach(() => ground.close())
    const row = (id: string): Promise<SessionRow> => server.sessions.reads.open(alice.caller, 'read', id)
    /** Time goes by, and the server looks at its watch. */
    const pass = async (ms: number) => {
      ground.clock.pass(ms)
      await server.sessions.sweep()
    }

    describe('and sqlite', () => {
      beforeEach(() => start(null))

      test.each(['a command', 'a named process'] as const)('a session in which %s runs never idles out', async (what) => {
        const name = what === 'a command' ? {} : { name: 'server' }
        const { session, executionId } = await alice.start('busy', 'echo ready; exec sleep 600', name)
        for (let step = 0; step < 5; step += 1) {
          await pass(IDLE_MS * 2)
          expect(await row(session.id)).toMatchObject({ state: 'active', incarnation: 1, running: 1 })
        }
        expect(await server.sandboxes()).toHaveLength(1)
        await server.sessions.commands.cancel(alice.caller, session.id, executionId)
        // From its end on it has its whole idle time.
        await pass(IDLE_MS - 10_000)
        expect(await row(session.id)).toMatchObject({ state: 'idle', incarnation: 1 })
        await pass(20_000)
        expect(await row(session.id)).toMatchObject({ state: 'suspended', suspendReason: 'idle', incarnation: 2 })
        await eventually(() => server.sandboxes()).toEqual([])
      })

      test('no polling of any kind keeps an idle session', async () => {
        const { session, executionId } = await alice.sh('idle', 'echo done')
        const before = await row(session.id)
        const [name = ''] = await server.sandboxes()
        const watching = new AbortController()
        const watched = (async () => {
          const seen: string[] = []
          for await (const { type } of server.events.followSession(alice.caller.visibility, session.id, 0, watching.signal)) seen.push(type)
          return seen
        })()
        for (let step = 0; step < 10; step += 1) {
          await pass(IDLE_MS / 10 - 1000)
          await server.sessions.reads.list(alice.caller, { states: ['idle', 'active'] }, null, 10)
          await server.sessions.commands.get(alice.caller, session.id, executionId)
          await server.sessions.commands.list(alice.caller, session.id, null, 10)
          await (await server.sessions.commands.output(alice.caller, session.id, executionId)).read(0)
          await server.events.readSession(alice.caller.visibility, session.id, 0, 100)
          await server.events.readTenant(alice.caller.visibility, 'oldest', 100)
          await alice.get('idle')
          const probe = await attachSandbox(server.backend, name)
          expect(await probe.check(Date.now() + IDLE_MS)).toBe(true)
          probe.detach()
          expect(await row(session.id)).toMatchObject({ state: 'idle', activityAt: before.activityAt })
        }
        await pass(20_000)
        expect(await row(session.id)).toMatchObject({ state: 'suspended', suspendReason: 'idle' })
        await eventually(() => server.sandboxes()).toEqual([])
        watching.abort()
        expect((await watched).at(-1)).toBe('session.suspended')
      })

      test('activity that is only in memory counts at the sweep', async () => {
        const { session } = await alice.sh('files', 'true')
        const { id, tenantId } = await row(session.id)
        ground.clock.pass(IDLE_MS - 5000)
        server.sessions.activity.note({ id, tenantId })
        await pass(IDLE_MS - 5000)
        expect(await row(id)).toMatchObject({ state: 'idle', incarnation: 1 })
        await pass(20_000)
        expect(await row(id)).toMatchObject({ state: 'suspended', suspendReason: 'idle' })
      })

      test('a lifetime ends also what is busy, and nothing of it is left', async () => {
        const times = { lifetimeMs: 60_000 }
        const { session, executionId } = await alice.start('short', 'exec sleep 600', { ask: { times } })
        await server.sessions.steering.refresh(alice.caller, session.id, { leaseMs: 3_600_000 })
        expect(await row(session.id)).toMatchObject({ state: 'active', leaseAt: (await row(session.id)).lifetimeAt })
        await pass(61_000)
        await eventually(async () => (await row(session.id)).state).toBe('expired')
        expect(await row(session.id)).toMatchObject({ closeDetail: 'lifetime', cleanup: { verified: true, sandbox: 'destroyed' } })
        expect(await server.sessions.commands.get(alice.caller, session.id, executionId)).toMatchObject({ status: 'cancelled' })
        expect(await server.sandboxes()).toEqual([])
      })
    })

    describe.each(['sqlite', 'postgres'] as const)('and a full %s', (dialect) => {
      let postgres: PostgresForServers | null = null
      beforeAll(async () => {
        if (dialect === 'postgres' && noPostgres === null) postgres = openPostgresForServers()
      })
      afterAll(() => postgres?.stop())
      beforeEach(async ({ skip }) => {
        if (dialect === 'postgres' && postgres === null) skip(noPostgres ?? 'no PostgreSQL')
        await start((await postgres?.newDatabase()) ?? null)
      })

      test(`commands go on while ${EXPIRED} sessions expire`, async () => {
        await alice.sh('work', 'true')
        const now = ground.clock()
        const due = { state: 'suspended', suspendReason: 'idle', serverId: server.home.serverId, suspendedAt: now - 2000 } as const
        await server.store.write(async (transaction) => {
          for (let index = 0; index < EXPIRED; index += 1) {
            const session = sampleSession({ ...due, createdAt: now - 9000, activityAt: now - 9000, recordMs: 86_400_000 })
            await insertSession(transaction, { ...session, deadline: 'retention', deadlineAt: now - 1000 })
          }
        })
        const sweep = { isOver: false }
        const sweeping = server.sessions.sweep().finally(() => (sweep.isOver = true))
        const meanwhile: string[] = []
        while (!sweep.isOver) {
          const { stdout } = await alice.sh('work', 'echo $PPID')
          if (!sweep.isOver) meanwhile.push(stdout)
        }
        await sweeping
        // Each began after the sweep did and was over before it.
        expect(meanwhile.length).toBeGreaterThan(5)
        await eventually(() => countIn('expired')).toBe(EXPIRED)
        expect(await countIn('suspended')).toBe(0)
        expect(server.logged).toEqual([])
      })

      async function countIn(state: string): Promise<number> {
        const found = await server.store.read((sql) => sql.get('SELECT count(*) AS n FROM sessions WHERE state = ?', state))
        return Number(found?.['n'])
      }
    })
  })
}
