/** A server that stops and starts again: what it promised is still there, and what is not is said. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'

const IDLE_MS = 600_000

for (const under of await backendsAbovePort()) {
  describe.skipIf(under.skipReason !== null)(`a restart on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person

    const start = async (settings: Readonly<Record<string, string>> = {}) => {
      server = await ground.start('one', { HOLDFAST_SESSIONS_IDLE_SECONDS: String(IDLE_MS / 1000), ...settings })
      alice = await personOf(server)
    }
    beforeEach(async () => {
      ground = openGround(under)
      await start()
    })
    afterEach(() => ground.close())
    const row = (id: string) => server.sessions.reads.open(alice.caller, 'read', id)
    const execution = (id: string, executionId: string) => server.sessions.commands.get(alice.caller, id, executionId)

    test('that keeps sandboxes changes nothing: the same incarnation, the same processes, the same names', async () => {
      const { session, executionId } = await alice.start('a', 'echo $$; exec sleep 600', { name: 'server' })
      const { id } = session
      const background = await alice.sh('a', 'setsid sleep 600 > /dev/null 2>&1 & echo $!; echo kept > note; echo there > /tmp/elsewhere')
      const pids = `${(await alice.printed(id, executionId)).trim()} ${background.stdout.trim()}`
      const before = await server.sandboxes()
      await server.close()
      expect(await ground.sandboxesOf('one')).toEqual(before)
      await start()
      expect(server.plane.recovered).toEqual({ sessions: 1, reattached: 1, lost: 0 })
      expect(server.orphansDestroyed).toBe(0)
      expect(await server.sandboxes()).toEqual(before)
      const after = await alice.sh('a', `kill -0 ${pids} && cat note /tmp/elsewhere`)
      expect(after).toMatchObject({ stdout: 'kept\nthere\n', exitCode: 0, session: { id, incarnation: 1, workspace: 'intact' } })
      expect(after.session.notice).toBeUndefined()
      expect(await execution(id, executionId)).toMatchObject({ status: 'running', name: 'server', kind: 'process' })
      // Its name is taken for as long as it runs.
      await expect(alice.start('a', 'true', { name: 'server' })).rejects.toMatchObject({ code: 'name_taken' })
      await server.sessions.steering.cancelWork(alice.caller, id, { processes: true })
      expect(await execution(id, executionId)).toMatchObject({ status: 'cancelled' })
      expect((await alice.sh('a', `kill -0 ${pids}`)).exitCode).not.toBe(0)
      const again = await alice.start('a', 'exec sleep 600', { name: 'server' })
      expect(again.session.incarnation).toBe(1)
    })

    test('that suspends gives up the sandboxes without work, keeps their files, and says so', async () => {
      await server.close()
      await start({ HOLDFAST_SESSIONS_ON_STOP: 'suspend' })
      const { session } = await alice.sh('a', 'echo kept > note; echo there > /tmp/elsewhere')
      const busy = await alice.start('b', 'exec sleep 600', { name: 'server' })
      await server.close()
      // What runs is not ended for a restart.
      expect(await ground.sandboxesOf('one')).toHaveLength(1)
      await start({ HOLDFAST_SESSIONS_ON_STOP: 'suspend' })
      expect(await row(session.id)).toMatchObject({ state: 'suspended', suspendReason: 'server_stopped' })
      const after = await alice.sh('a', 'cat note; cat /tmp/elsewhere')
      expect(after).toMatchObject({ stdout: 'kept\n', session: { id: session.id, incarnation: 2, workspace: 'intact' } })
      expect(after.session.notice).toMatch(/the server was restarted.*workspace are intact/)
      expect((await alice.sh('a', 'true')).session.notice).toBeUndefined()
      expect(await execution(busy.session.id, busy.executionId)).toMatchObject({ status: 'running' })
      await expect(alice.sh('a', 'true', { expectedIncarnation: 1 })).rejects.toMatchObject({
        code: 'incarnation_changed',
        details: { expected: 1, incarnation: 2 },
      })
    })

    test('that finds a sandbox gone marks what ran there as lost, keeps the files, and says so', async () => {
      const { session, executionId } = await alice.start('a', 'echo kept > note; exec sleep 600')
      await eventually(async () => (await alice.sh('a', 'cat note')).stdout).toBe('kept\n')
      const [name = ''] = await server.sandboxes()
      const { backend } = server
      await server.close()
      await backend.destroy(name)
      await start()
      expect(server.plane.recovered).toEqual({ sessions: 1, reattached: 0, lost: 1 })
      expect(await execution(session.id, executionId)).toMatchObject({ status: 'lost', exitCode: null, signal: null })
      expect(await row(session.id)).toMatchObject({ state: 'suspended', running: 0, incarnation: 2 })
      const after = await alice.sh('a', 'cat note')
      expect(after).toMatchObject({ stdout: 'kept\n', session: { id: session.id, incarnation: 2, workspace: 'intact' } })
      expect(after.session.notice).toMatch(/stopped unexpectedly.*workspace are intact/)
    })

    test('whose backend does not answer loses nothing, and follows on what runs as soon as it answers', async () => {
      const { session, executionId } = await alice.start('a', 'sleep 0.2; echo done; exit 7')
      await server.close()
      let isDown = true
      server = await ground.start('one', {}, (open) => async (kind) => {
        if (isDown) throw new HoldfastError('backend_unavailable', 'the engine is not running')
        return open(kind)
      })
      alice = await personOf(server)
      expect(server.plane.recovered).toEqual({ sessions: 1, reattached: 0, lost: 0 })
      await server.sessions.sweep()
      expect(await row(session.id)).toMatchObject({ state: 'active', running: 1, incarnation: 1 })
      isDown = false
      await server.sessions.sweep()
      await eventually(async () => (await execution(session.id, executionId)).status).toBe('completed')
      expect(await execution(session.id, executionId)).toMatchObject({ exitCode: 7 })
      expect(await alice.printed(session.id, executionId)).toBe('done\n')
      expect(await row(session.id)).toMatchObject({ running: 0, incarnation: 1 })
    })

    test('that finds a workspace gone never shows a fresh one as the old one', async () => {
      const { session } = await alice.sh('a', 'echo kept > note')
      await server.sessions.steering.suspend(alice.caller, session.id)
      await server.close()
      const directory = join(server.home.workspacesDir, session.id)
      expect(readdirSync(directory)).toContain('files')
      rmSync(directory, { recursive: true })
      await start()
      const after = await alice.sh('a', 'ls')
      expect(after).toMatchObject({ stdout: '', session: { id: session.id, incarnation: 2, workspace: 'lost' } })
      expect(after.session.notice).toMatch(/on request.*could not be kept and is empty/)
      // From here on this is the workspace.
      await alice.sh('a', 'echo new > note')
      await server.sessions.steering.suspend(alice.caller, session.id)
      expect(await alice.sh('a', 'cat note')).toMatchObject({ stdout: 'new\n', session: { incarnation: 3, workspace: 'intact' } })
    })

    test('neither makes a deadline come early nor forgets one', async () => {
      const { session } = await alice.sh('a', 'true')
      ground.clock.pass(IDLE_MS / 2)
      await server.sessions.sweep()
      await server.close()
      await start()
      await server.sessions.sweep()
      expect(await row(session.id)).toMatchObject({ state: 'idle', incarnation: 1 })
      await server.close()
      ground.clock.pass(IDLE_MS / 2)
      await start()
      await server.sessions.sweep()
      expect(await row(session.id)).toMatchObject({ state: 'suspended', suspendReason: 'idle', incarnation: 2 })
      await eventually(() => server.sandboxes()).toEqual([])
    })

    test('destroys what bears its name and belongs to no session', async () => {
      await alice.sh('a', 'true')
      const expected = await server.sandboxes()
      await server.close()
      const other = await ground.start('two')
      const bob = await personOf(other)
      await bob.sh('b', 'true')
      await start()
      expect(await server.sandboxes()).toEqual(expected)
      await server.close()
      await server.store.close()
      rmSync(join(server.home.path, 'holdfast.db'))
      for (const suffix of ['-wal', '-shm']) rmSync(join(server.home.path, `holdfast.db${suffix}`), { force: true })
      await start()
      expect(server.orphansDestroyed).toBe(1)
      expect(await server.sandboxes()).toEqual([])
      // Another server's are none of its business.
      expect(await other.sandboxes()).toHaveLength(1)
    })
  })
}
