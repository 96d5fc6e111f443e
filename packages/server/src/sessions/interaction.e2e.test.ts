/** Programs that are talked to, on real sandboxes: over a restart, in a sandbox that others share, and for as long as they run. */
import { CreateTenantBody } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'

const NEVER = new AbortController().signal
const IDLE_MS = 600_000
const SETTINGS = { HOLDFAST_SESSIONS_IDLE_SECONDS: String(IDLE_MS / 1000), HOLDFAST_SESSIONS_TERMINAL_GRACE_SECONDS: '1' }
const ROOT = principal('root', { role: 'platform_admin' })

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`talking to programs on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person

    const start = async (who = principal('alice')) => {
      server = await ground.start('one', SETTINGS)
      alice = await personOf(server, who)
    }
    beforeEach(async () => {
      ground = openGround(under)
      await start()
    })
    afterEach(() => ground.close())

    const restart = async (who = principal('alice')) => {
      await server.close()
      await start(who)
    }
    const say = (sessionId: string, executionId: string, text: string, isLast = false) =>
      server.sessions.commands.input(alice.caller, sessionId, executionId, { bytes: Buffer.from(text), isLast }, NEVER)
    const prints = (sessionId: string, executionId: string) => eventually(() => alice.printed(sessionId, executionId))
    const processes = () => server.sessions.processes

    test('input reaches a program over a restart, and one that was closed stays closed', async () => {
      const { session, executionId } = await alice.start('a', 'cat', { interactive: true })
      const closed = await alice.start('a', 'cat; exec sleep 600', { interactive: true })
      const none = await alice.start('a', 'exec sleep 600')
      await say(session.id, executionId, 'before ')
      await say(session.id, closed.executionId, 'all', true)
      await restart()
      await say(session.id, executionId, 'after', true)
      expect(await alice.ended(session.id, executionId)).toMatchObject({ status: 'completed', exitCode: 0 })
      expect(await alice.printed(session.id, executionId)).toBe('before after')
      await expect(say(session.id, closed.executionId, 'x')).rejects.toMatchObject({ code: 'not_interactive' })
      await expect(say(session.id, none.executionId, 'x')).rejects.toMatchObject({ code: 'not_interactive' })
      await expect(say(session.id, executionId, 'x')).rejects.toMatchObject({ code: 'execution_ended' })
    })

    test('a process keeps its name, its output and its input over a restart, and is ended whole', async () => {
      const { session } = await alice.sh('a', 'true')
      const command = {
        argv: ['/bin/sh', '-c', 'echo pid $$; while read line; do echo heard $line; done; exec sleep 600'],
        interactive: true,
      }
      const first = await processes().start(alice.caller, session.id, { name: 'talker', command }, NEVER)
      await say(session.id, first.id, 'one\n')
      await prints(session.id, first.id).toMatch(/heard one/)
      await restart()
      const found = await processes().get(alice.caller, session.id, 'talker')
      expect(found).toMatchObject({ id: first.id, status: 'running' })
      await expect(processes().start(alice.caller, session.id, { name: 'talker', command }, NEVER)).rejects.toMatchObject({
        code: 'name_taken',
      })
      await say(session.id, first.id, 'two\n')
      await prints(session.id, first.id).toMatch(/heard one\nheard two/)
      const printed = await alice.printed(session.id, first.id)
      expect(await processes().list(alice.caller, session.id)).toMatchObject([{ id: first.id, outputSeq: printed.length }])
      const pid = /pid (\d+)/.exec(printed)?.[1]
      expect(await processes().stop(alice.caller, session.id, 'talker', 0)).toMatchObject({ executions: 1, verified: true })
      expect((await alice.sh('a', `kill -0 ${pid}`)).exitCode).not.toBe(0)
      const second = await processes().start(alice.caller, session.id, { name: 'talker', command }, NEVER)
      expect(second.id).not.toBe(first.id)
      expect(await processes().list(alice.caller, session.id)).toMatchObject([{ id: second.id, status: 'running' }])
    })

    test('a process keeps its session alive, and when it is ended the session idles out', async () => {
      const { session } = await alice.start('a', 'exec sleep 600', { name: 'server' })
      const state = async () => (await server.sessions.reads.open(alice.caller, 'read', session.id)).state
      ground.clock.pass(3 * IDLE_MS)
      await server.sessions.sweep()
      expect(await state()).toBe('active')
      await processes().stop(alice.caller, session.id, 'server', 0)
      ground.clock.pass(IDLE_MS)
      await server.sessions.sweep()
      ground.clock.pass(IDLE_MS)
      await server.sessions.sweep()
      expect(await state()).toBe('suspended')
    })

    test('whoever writes to a program whose sandbox is gone is told, and does not wait for ever', async () => {
      const { session, executionId } = await alice.start('a', 'exec sleep 600', { interactive: true })
      const [name = ''] = await server.sandboxes()
      const destroyed = server.backend.destroy(name)
      const told = new Set<string>()
      // Again and again, so that one comes while it is not yet known that there will be no other connection.
      while (!told.has('execution_ended'))
        told.add(
          await say(session.id, executionId, 'x').then(
            () => 'taken',
            (error: { code: string }) => error.code,
          ),
        )
      await destroyed
      expect([...told].filter((code) => !['taken', 'execution_ended', 'input_uncertain', 'sandbox_gone'].includes(code))).toEqual([])
      expect(await alice.ended(session.id, executionId)).toMatchObject({ status: 'lost' })
    })

    test('in a shared sandbox a terminal and its input are those of its own user, and no neighbour’s', async ({ skip }) => {
      if (!server.capabilities.packing) skip(server.capabilities.reasons.packing ?? 'it cannot pack')
      const policy = { packing: { profiles: ['small'] } }
      const { id: tenantId } = await server.plane.tenants.create(ROOT, CreateTenantBody.parse({ name: 'acme', policy }))
      alice = await personOf(server, principal('alice', { tenantId }))
      const [one, two] = [
        await alice.sh('a', 'id -u', { ask: { pack: 'small' } }),
        await alice.sh('b', 'id -u', { ask: { pack: 'small' } }),
      ]
      expect(one.stdout).not.toBe(two.stdout)
      expect(await server.sandboxes()).toHaveLength(1)
      const terminal = await server.sessions.terminals.open(alice.caller, one.session.id, { size: { cols: 80, rows: 24 } }, NEVER)
      await terminal.write(Buffer.from('echo $(id -u) $(stat -c %u $(tty)) $PWD end; exit\n'), NEVER)
      expect(await terminal.ended).toMatchObject({ status: 'completed', exitCode: 0 })
      const uid = one.stdout.trim()
      const workspace = (await alice.sh({ id: one.session.id }, 'pwd')).stdout.trim()
      expect(await alice.printed(one.session.id, terminal.executionId)).toContain(`${uid} ${uid} ${workspace} end\r\n`)
      // An execution of one session is not there in another.
      const { executionId } = await alice.start({ id: one.session.id }, 'cat', { interactive: true })
      await expect(say(two.session.id, executionId, 'x')).rejects.toMatchObject({ code: 'not_found' })
      await expect(server.sessions.terminals.attach(alice.caller, two.session.id, terminal.executionId, 0)).rejects.toMatchObject({
        code: 'not_found',
      })
      await restart(principal('alice', { tenantId }))
      await say(one.session.id, executionId, 'hello', true)
      await alice.ended(one.session.id, executionId)
      expect(await alice.printed(one.session.id, executionId)).toBe('hello')
    })

    test('terminals count as executions of their session, and so do their clients', async () => {
      await server.close()
      server = await ground.start('one', { ...SETTINGS, HOLDFAST_SESSIONS_MAX_EXECUTIONS: '2' })
      alice = await personOf(server)
      const { session } = await alice.sh('a', 'true')
      const { terminals } = server.sessions
      const open = () => terminals.open(alice.caller, session.id, { size: { cols: 80, rows: 24 }, command: 'exec sleep 600' }, NEVER)
      const [first, second] = [await open(), await open()]
      const tooMany = { code: 'quota_exceeded', details: { limit: 2 } }
      await expect(open()).rejects.toMatchObject(tooMany)
      await expect(alice.sh('a', 'true')).rejects.toMatchObject(tooMany)
      await expect(terminals.attach(alice.caller, session.id, first.executionId, 0)).rejects.toMatchObject(tooMany)
      await second.leave('gone')
      const again = await terminals.attach(alice.caller, session.id, first.executionId, 0)
      await first.leave('gone')
      await again.leave('detached')
      // Somebody who meant to come back and did not leaves it as it was.
      await (await terminals.attach(alice.caller, session.id, first.executionId, 0)).withdraw()
      await eventually(async () => (await server.sessions.commands.get(alice.caller, session.id, second.executionId)).status).toBe(
        'cancelled',
      )
      expect(await server.sessions.commands.get(alice.caller, session.id, first.executionId)).toMatchObject({ status: 'running' })
    })
  })
}
