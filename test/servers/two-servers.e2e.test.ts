/** Several servers on one PostgreSQL: one session and one sandbox for a key, and a take-over that never makes two. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isHoldfastError } from '@holdfast/protocol'
import { openStore } from '../../packages/server/src/store/open-store.ts'
import type { Store } from '../../packages/server/src/store/store.ts'
import { renewServer } from '../../packages/server/src/store/tables/servers.ts'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { noPostgres, openPostgresForServers } from './database.ts'
import type { PostgresForServers } from './database.ts'
import { eventually } from './eventually.ts'
import { PATIENCE_MS } from './patience.ts'
import { openGround } from './ground.ts'
import type { Ground } from './ground.ts'
import { Refused, startOtherProcess } from './other-process.ts'
import type { OtherProcess } from './other-process.ts'
import { personOf } from './person.ts'
import type { Person, Told } from './person.ts'
import type { TestServer } from './test-server.ts'

const CALLERS = 200
/** Longer than a server's promise and the patience of the others. */
const LONG_MS = 24 * 3600 * 1000
const SETTINGS = {
  HOLDFAST_SESSIONS_MAX_EXECUTIONS: String(CALLERS),
  HOLDFAST_LIMITS_PIDS: '1024',
  HOLDFAST_SESSIONS_IDLE_SECONDS: String((3 * LONG_MS) / 1000),
}
const skipReason = noPostgres === null ? '' : ` (skipped: ${noPostgres})`

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  const title = `two servers on one PostgreSQL, on ${under.kind}${because(under)}${skipReason}`
  describe.skipIf(under.skipReason !== null || noPostgres !== null)(title, () => {
    let postgres: PostgresForServers
    let ground: Ground
    let store: Store
    const processes: OtherProcess[] = []

    beforeAll(async () => {
      postgres = openPostgresForServers()
    })
    afterAll(() => postgres.stop())
    beforeEach(async () => {
      const url = await postgres.newDatabase()
      ground = openGround(under, url)
      store = await openStore({ url, home: '' })
    })
    afterEach(async () => {
      for (const each of processes.splice(0)) await each.kill()
      await store.close()
      await ground.close()
    })

    const spawnServer = async (name: string, passedMs = 0) => {
      const other = await startOtherProcess(ground.plan(name, SETTINGS), passedMs)
      processes.push(other)
      return other
    }
    /** For everybody here; the server that lives through it goes on promising so. */
    const pass = async (survivor: TestServer) => {
      ground.clock.pass(LONG_MS)
      const { serverId } = survivor.home
      const now = ground.clock()
      await store.write((transaction) => renewServer(transaction, { id: serverId, url: 'http://two.test', now, aliveUntil: now + 30_000 }))
    }
    const sessionRows = () => store.read((sql) => sql.all('SELECT * FROM sessions'))
    const executionRows = () => store.read((sql) => sql.all('SELECT * FROM executions ORDER BY started_at'))
    const sandboxRows = () => store.read((sql) => sql.all('SELECT id, server_id FROM sandboxes'))
    const allSandboxes = async () => [...(await ground.sandboxesOf('one')), ...(await ground.sandboxesOf('two'))]

    describe('in one process', () => {
      let servers: readonly [TestServer, TestServer]
      let people: readonly [Person, Person]
      beforeEach(async () => {
        servers = [await ground.start('one', SETTINGS), await ground.start('two', SETTINGS)]
        people = [await personOf(servers[0]), await personOf(servers[1])]
      })

      test(`${CALLERS} callers at both make one session and one sandbox; only its host runs commands`, async () => {
        const settled = await Promise.allSettled(
          Array.from({ length: CALLERS }, (_, index) => people[index % 2 === 0 ? 0 : 1].sh('meeting', `echo ${index}`)),
        )
        expectOneHost(settled, codeAndDetails)
        expect(await allSandboxes()).toHaveLength(1)
        expect(await sessionRows()).toHaveLength(1)
        expect(await sandboxRows()).toHaveLength(1)
        const [first, second] = await Promise.all(people.map((person) => person.get('meeting')))
        expect(first?.session.id).toBe(second?.session.id)
        expect([first?.isNew, second?.isNew]).toEqual([false, false])
      })

      test('what a host alone can answer names the host, whoever asks', async () => {
        const [host, other] = people
        const { session, executionId } = await host.start('job', 'echo begun; exec sleep 600')
        const elsewhere = { code: 'session_elsewhere', details: { server: servers[0].home.serverId, url: 'http://one.test' } }
        const { commands, steering } = servers[1].sessions
        await expect(other.sh({ id: session.id }, 'true')).rejects.toMatchObject(elsewhere)
        await expect(commands.cancel(other.caller, session.id, executionId)).rejects.toMatchObject(elsewhere)
        await expect(steering.cancelWork(other.caller, session.id)).rejects.toMatchObject(elsewhere)
        await expect(commands.output(other.caller, session.id, executionId)).rejects.toMatchObject(elsewhere)
        expect(await executionRows()).toMatchObject([{ status: 'running', cancel_at: null }])
        // What the store alone can answer is answered everywhere.
        expect(await commands.get(other.caller, session.id, executionId)).toMatchObject({ status: 'running' })
        expect(await servers[1].sessions.reads.open(other.caller, 'read', session.id)).toMatchObject({ state: 'active' })
      })

      test('a session that was closed or suspended through the other server is cleaned up by its host', async () => {
        const [host, other] = people
        const first = await host.sh('a', 'true')
        const second = await host.sh('b', 'echo kept > note')
        await servers[1].sessions.steering.cancel(other.caller, first.session.id)
        await servers[1].sessions.steering.suspend(other.caller, second.session.id)
        await servers[0].sessions.sweep()
        const row = async (id: string) => servers[1].sessions.reads.open(other.caller, 'read', id)
        await eventually(async () => (await row(first.session.id)).state).toBe('cancelled')
        await eventually(allSandboxes).toEqual([])
        expect(await host.sh({ id: second.session.id }, 'cat note')).toMatchObject({ stdout: 'kept\n', session: { incarnation: 2 } })
      })
    })

    test(`${CALLERS} callers at two processes make one session and one sandbox; only its host runs commands`, async () => {
      const [one, two] = await Promise.all([spawnServer('one'), spawnServer('two')])
      const settled = await Promise.allSettled(
        Array.from({ length: CALLERS }, (_, index) => (index % 2 === 0 ? one : two).sh('meeting', `echo ${index}`)),
      )
      expectOneHost(settled, codeAndDetails)
      expect(await allSandboxes()).toHaveLength(1)
      expect(await sessionRows()).toHaveLength(1)
      const [first, second] = await Promise.all([one.get('meeting'), two.get('meeting')])
      expect(first.session.id).toBe(second.session.id)
    })

    test('a killed server’s session is taken over as lost, and the killed one takes back nothing when it returns', async () => {
      const one = await spawnServer('one')
      const first = await one.sh('job', 'echo precious > note; echo done')
      await one.start('job', 'exec sleep 600')
      const [stale] = await ground.sandboxesOf('one')
      await one.kill()

      const two = await ground.start('two', SETTINGS)
      const alice = await personOf(two)
      // Its promise may still be kept: nobody else touches what it has.
      await expect(alice.sh('job', 'true')).rejects.toMatchObject({ code: 'session_elsewhere', details: { server: one.serverId } })
      await pass(two)
      const taken = await alice.sh('job', 'ls')
      expect(taken).toMatchObject({ stdout: '', session: { id: first.session.id, incarnation: 2, workspace: 'lost' } })
      expect(taken.session.notice).toMatch(/stopped unexpectedly.*workspace could not be kept/)
      expect(await executionRows()).toMatchObject([{ status: 'completed' }, { status: 'lost', exit_code: null }, { status: 'completed' }])
      expect(await ground.sandboxesOf('two')).toHaveLength(1)
      expect(await ground.sandboxesOf('one')).toEqual([stale])

      const again = await spawnServer('one', LONG_MS)
      await again.sweep()
      await eventually(() => ground.sandboxesOf('one')).toEqual([])
      expect(await ground.sandboxesOf('two')).toHaveLength(1)
      expect(await sandboxRows()).toMatchObject([{ server_id: two.home.serverId }])
      await expect(again.sh('job', 'true')).rejects.toMatchObject({ problem: { code: 'session_elsewhere' } })
      expect(await alice.sh('job', 'echo still')).toMatchObject({ stdout: 'still\n', session: { incarnation: 2 } })
    })

    test('a session that comes back to a server is not shown the files it had there before it was elsewhere', async () => {
      const one = await spawnServer('one')
      await one.sh('job', 'echo first > note')
      await one.kill()
      const two = await ground.start('two', SETTINGS)
      await pass(two)
      const alice = await personOf(two)
      await alice.sh('job', 'echo second > note')
      await two.close()
      ground.clock.pass(LONG_MS)
      const back = await (await personOf(await ground.start('one', SETTINGS))).sh('job', 'cat note')
      expect(back).toMatchObject({ stdout: '', session: { incarnation: 3, workspace: 'lost' } })
      expect(back.session.notice).toContain('could not be kept')
    })

    test('a server that only stood still loses the session too, and removes its sandbox without a restart', async () => {
      const one = await spawnServer('one')
      await one.sh('job', 'echo precious > note')
      const running = one.sh('job', 'exec sleep 600')
      running.catch(() => undefined)
      await eventually(async () => (await executionRows()).length).toBe(2)
      one.stop()
      const two = await ground.start('two', SETTINGS)
      const alice = await personOf(two)
      await pass(two)
      const taken = await alice.sh('job', 'ls')
      expect(taken).toMatchObject({ stdout: '', session: { incarnation: 2, workspace: 'lost' } })
      one.goOn()
      await one.pass(LONG_MS)
      await one.sweep()
      await eventually(() => ground.sandboxesOf('one')).toEqual([])
      // Whoever waited there hears the truth.
      expect(await running).toMatchObject({ status: 'lost', exitCode: null })
      await expect(one.sh('job', 'true')).rejects.toMatchObject({ problem: { code: 'session_elsewhere' } })
      expect(await sandboxRows()).toMatchObject([{ server_id: two.home.serverId }])
    })

    test('a session that nobody asks for waits for its server, and ends without it in the end', async () => {
      const settings = { ...SETTINGS, HOLDFAST_SESSIONS_RETENTION_SECONDS: String(LONG_MS / 1000) }
      const one = await startOtherProcess(ground.plan('one', settings))
      processes.push(one)
      const { session } = await one.sh('job', 'echo kept > note')
      await one.kill()
      const two = await ground.start('two', settings)
      const alice = await personOf(two)
      const row = () => two.sessions.reads.open(alice.caller, 'read', session.id)
      const nextDay = async () => {
        await pass(two)
        await two.sessions.sweep()
      }
      await nextDay()
      expect(await row()).toMatchObject({ state: 'active', serverId: one.serverId, incarnation: 1 })
      const again = await startOtherProcess(ground.plan('one', settings), LONG_MS)
      processes.push(again)
      expect(await again.sh('job', 'cat note')).toMatchObject({ stdout: 'kept\n', session: { incarnation: 1, workspace: 'intact' } })
      await again.kill()

      // Its idle time is three days, and files would be kept for one more.
      for (let day = 0; day < 3; day += 1) await nextDay()
      expect(await row()).toMatchObject({ serverId: one.serverId, incarnation: 1 })
      for (let day = 0; day < 2; day += 1) await nextDay()
      expect(await row()).toMatchObject({ state: 'suspended', serverId: two.home.serverId, incarnation: 2, sandboxId: null })
      await nextDay()
      await nextDay()
      await eventually(async () => (await row()).state).toBe('expired')
    })

    test('a dead server’s session that was closed elsewhere does not keep its key for ever', async () => {
      const one = await spawnServer('one')
      const first = await one.sh('job', 'true')
      await one.kill()
      const two = await ground.start('two', SETTINGS)
      const alice = await personOf(two)
      await two.sessions.steering.cancel(alice.caller, first.session.id)
      await pass(two)
      await two.sessions.sweep()
      const next = await alice.sh('job', 'echo new', { signal: AbortSignal.timeout(PATIENCE_MS) })
      expect(next).toMatchObject({ stdout: 'new\n', session: { incarnation: 1 } })
      expect(next.session.id).not.toBe(first.session.id)
      // What could not be reached is not called clean; its server removes it when it is back.
      const closed = await two.sessions.reads.open(alice.caller, 'read', first.session.id)
      expect(closed).toMatchObject({ state: 'cancelled', cleanup: { verified: false } })
      expect(await ground.sandboxesOf('one')).toHaveLength(1)
      await spawnServer('one', LONG_MS)
      await eventually(() => ground.sandboxesOf('one')).toEqual([])
    })
  })
}

interface Seen {
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>
}

function codeAndDetails(reason: unknown): Seen {
  if (reason instanceof Refused) return reason.problem
  if (isHoldfastError(reason)) return reason
  throw reason
}

/** Every caller got its own output from the one host, or was told who that is. */
function expectOneHost(settled: readonly PromiseSettledResult<Told>[], seen: (reason: unknown) => Seen): void {
  const told = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const refused = settled.flatMap((each) => (each.status === 'rejected' ? [seen(each.reason)] : []))
  expect(refused.filter(({ code }) => code !== 'session_elsewhere')).toEqual([])
  expect([told.length, refused.length]).toEqual([CALLERS / 2, CALLERS / 2])
  expect(new Set(told.map(({ session }) => session.id)).size).toBe(1)
  expect(new Set(refused.map(({ details }) => details['url'])).size).toBe(1)
  const numbers = settled.flatMap((each, index) => (each.status === 'fulfilled' ? [[each.value.stdout, `${index}\n`]] : []))
  for (const [printed, expected] of numbers) expect(printed).toBe(expected)
}
