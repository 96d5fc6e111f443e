/** One key, one session, one sandbox: however many ask at once, on every store. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../test/environment/backends.ts'
import { noPostgres, openPostgresForServers } from '../../../../test/servers/database.ts'
import type { PostgresForServers } from '../../../../test/servers/database.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'

const CALLERS = 200
const subjects = await backendsAbovePort()

for (const under of subjects) {
  describe.skipIf(under.skipReason !== null)(`on ${under.kind}${because(under)}`, () => {
    describe.each(under.kind === 'bubblewrap' ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const))('and %s', (dialect) => {
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
        server = await ground.start('one', { HOLDFAST_SESSIONS_MAX_EXECUTIONS: String(CALLERS), HOLDFAST_LIMITS_PIDS: '1024' })
        alice = await personOf(server)
      })
      afterEach(() => ground.close())

      test(`${CALLERS} callers who meet at a new key with a command share one session and one sandbox`, async () => {
        const told = await Promise.all(
          Array.from({ length: CALLERS }, (_, index) => alice.sh('meeting', `echo ${index} >> all; echo ${index}`)),
        )
        expect(new Set(told.map(({ session }) => session.id)).size).toBe(1)
        expect(told.map(({ stdout, status, exitCode }) => [stdout, status, exitCode])).toEqual(
          told.map((_, index) => [`${index}\n`, 'completed', 0]),
        )
        expect(await server.sandboxes()).toHaveLength(1)
        const { stdout } = await alice.sh('meeting', 'sort -n all | uniq | wc -l')
        expect(Number(stdout)).toBe(CALLERS)
        const rows = await server.sessions.reads.list(alice.caller, {}, null, 10)
        expect(rows).toMatchObject([{ running: 0, incarnation: 1, executionCount: CALLERS + 1 }])
        expect(await sandboxRows()).toBe(1)
      })

      test('callers who meet without a command get the same session, and only one of them made it', async () => {
        const got = await Promise.all(Array.from({ length: CALLERS }, () => alice.get('meeting')))
        expect(new Set(got.map(({ session }) => session.id)).size).toBe(1)
        expect(got.filter(({ isNew }) => isNew)).toHaveLength(1)
        await alice.sh('meeting', 'true')
        expect(await server.sandboxes()).toHaveLength(1)
      })

      test('a key is free again once its session is over, and who comes during the clean-up waits for that', async () => {
        const first = await alice.sh('meeting', 'echo old > note; echo done')
        await server.sessions.steering.release(alice.caller, first.session.id)
        const [second, third] = await Promise.all([alice.sh('meeting', 'cat note'), alice.sh('meeting', 'cat note')])
        expect(second.session.id).toBe(third.session.id)
        expect(second.session.id).not.toBe(first.session.id)
        expect(second).toMatchObject({ stdout: '', session: { incarnation: 1 } })
        expect(await server.sandboxes()).toHaveLength(1)
      })

      test('the same key of two owners is two sessions that know nothing of each other', async () => {
        const bob = await personOf(server, principal('bob'))
        const [mine, theirs] = await Promise.all([alice.sh('meeting', 'echo alice > note'), bob.sh('meeting', 'cat note')])
        expect(mine.session.id).not.toBe(theirs.session.id)
        expect(theirs.stdout).toBe('')
        expect(await server.sandboxes()).toHaveLength(2)
      })

      async function sandboxRows(): Promise<number> {
        return (await server.store.read((sql) => sql.all('SELECT id FROM sandboxes'))).length
      }
    })
  })
}
