/** Ends are always stored: a store that fails for a while delays what it has to keep, and nothing stays `running` that has ended. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import { createStoreFaults } from '../../../../test/servers/store-faults.ts'
import type { StoreFaults } from '../../../../test/servers/store-faults.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'

const END = /UPDATE executions SET status/
const START = /INSERT INTO executions/

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`a store that fails for a while${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    let faults: StoreFaults

    beforeEach(async () => {
      ground = openGround(under)
      faults = createStoreFaults()
      server = await ground.start('one', { HOLDFAST_SESSIONS_IDLE_SECONDS: '600' }, undefined, undefined, faults.wrap)
      alice = await personOf(server)
    })
    afterEach(async () => {
      faults.isDown = false
      await ground.close()
    })
    const row = (id: string) => server.sessions.reads.open(alice.caller, 'read', id)
    const execution = (id: string, executionId: string) => server.sessions.commands.get(alice.caller, id, executionId)

    test('stores the end of a detached command whose first writes failed', async () => {
      const { session } = await alice.sh('a', 'true')
      faults.failWrites(END, 4, 'before')
      const { executionId } = await alice.start('a', 'echo done; exit 7')
      await eventually(async () => (await execution(session.id, executionId)).status).toBe('completed')
      expect(faults.failuresLeft).toBe(0)
      expect(await execution(session.id, executionId)).toMatchObject({ exitCode: 7, outputSeq: 5 })
      expect(await alice.printed(session.id, executionId)).toBe('done\n')
      expect(await row(session.id)).toMatchObject({ running: 0 })
      await server.sessions.steering.suspend(alice.caller, session.id)
      expect(await row(session.id)).toMatchObject({ state: 'suspended' })
    })

    test('stores the end that a caller was given while the store did not answer', async () => {
      const told = await alice.attend('a', 'cat; exit 3', async ({ executionId, session, finish }) => {
        faults.isDown = true
        return { id: session.id, executionId, end: await finish(() => undefined) }
      })
      expect(told.end).toMatchObject({ status: 'completed', exitCode: 3 })
      faults.isDown = false
      await eventually(async () => (await execution(told.id, told.executionId)).status).toBe('completed')
      expect(await row(told.id)).toMatchObject({ running: 0 })
    })

    test('fails the caller of a killed command, whose status only the store knows, and still stores its end', async () => {
      const started = Promise.withResolvers<{ readonly id: string; readonly executionId: string }>()
      const told = alice.attend('a', 'exec sleep 600', async ({ executionId, session, finish }) => {
        const finished = finish(() => undefined)
        started.resolve({ id: session.id, executionId })
        return finished
      })
      const { id, executionId } = await started.promise
      faults.failWrites(END, 3, 'before')
      const cancelled = server.sessions.commands.cancel(alice.caller, id, executionId, 0)
      await expect(told).rejects.toMatchObject({ code: 'store_unavailable' })
      await cancelled
      expect(await execution(id, executionId)).toMatchObject({ status: 'cancelled' })
    })

    test('stores an end once, with one event, when the answer to its commit was lost', async () => {
      const { session } = await alice.sh('a', 'true')
      faults.failWrites(END, 1, 'after')
      const { executionId } = await alice.sh('a', 'exit 4')
      await eventually(() => faults.failuresLeft).toBe(0)
      expect(await execution(session.id, executionId)).toMatchObject({ status: 'completed', exitCode: 4 })
      await eventually(async () => (await row(session.id)).running).toBe(0)
      const events = await server.events.readSession(alice.caller.visibility, session.id, 0, 1_000)
      const ends = events.filter(({ type, data }) => type === 'execution.ended' && data['execution_id'] === executionId)
      expect(ends).toHaveLength(1)
    })

    test('records a start whose commit was kept without an answer as not started', async () => {
      const { session } = await alice.sh('a', 'true')
      faults.failWrites(START, 1, 'after')
      await expect(alice.sh('a', 'true')).rejects.toMatchObject({ code: 'store_unavailable' })
      const statuses = async () =>
        (await server.sessions.commands.list(alice.caller, session.id, null, 10)).map(({ status }) => status).toSorted()
      await eventually(statuses).toEqual(['completed', 'not_started'])
      expect(await row(session.id)).toMatchObject({ running: 0 })
    })

    test('records a command that could not be started although the first writes of that failed', async () => {
      const { session } = await alice.sh('a', 'true')
      faults.failWrites(END, 3, 'before')
      await expect(alice.sh('a', 'true', { cwd: '/nowhere' })).rejects.toMatchObject({ code: 'command_not_started' })
      const statuses = async () =>
        (await server.sessions.commands.list(alice.caller, session.id, null, 10)).map(({ status }) => status).toSorted()
      await eventually(statuses).toEqual(['completed', 'not_started'])
      expect(await row(session.id)).toMatchObject({ running: 0 })
    })

    test('asks the guest about a record that says running and that nothing in this server follows', async () => {
      const { session, executionId } = await alice.start('a', 'echo done; exit 5')
      await alice.ended(session.id, executionId)
      // As a commit leaves it that reached the database long after its server gave it up.
      const reviveRecord = () =>
        server.store.write(async (sql) => {
          await sql.run(`UPDATE executions SET status = 'running', exit_code = NULL, ended_at = NULL WHERE id = ?`, executionId)
          await sql.run(`UPDATE sessions SET running = running + 1, version = version + 1 WHERE id = ?`, session.id)
        })
      await reviveRecord()
      await server.sessions.sweep()
      await eventually(async () => (await execution(session.id, executionId)).status).toBe('completed')
      expect(await execution(session.id, executionId)).toMatchObject({ exitCode: 5 })
      expect(await alice.printed(session.id, executionId)).toBe('done\n')
      expect(await row(session.id)).toMatchObject({ running: 0 })
    })

    test('calls a record lost that says running and that its guest does not know', async () => {
      const { session } = await alice.sh('a', 'true')
      faults.failWrites(END, Number.POSITIVE_INFINITY, 'before')
      const { executionId } = await alice.sh('a', 'exit 5')
      const unknown = 'exe_0000000000000000'
      await server.store.write(async (sql) => {
        await sql.run(`INSERT INTO executions (id, session_id, tenant_id, sandbox_id, incarnation, kind, actor, status, started_at, output_seq)
          SELECT '${unknown}', session_id, tenant_id, sandbox_id, incarnation, kind, actor, 'running', started_at, 0
          FROM executions WHERE id = '${executionId}'`)
        await sql.run(`UPDATE sessions SET running = running + 1, version = version + 1 WHERE id = ?`, session.id)
      })
      faults.failWrites(END, 0, 'before')
      await server.sessions.sweep()
      await eventually(async () => (await execution(session.id, unknown)).status).toBe('lost')
      await eventually(async () => (await execution(session.id, executionId)).status).toBe('completed')
      expect(await row(session.id)).toMatchObject({ running: 0 })
    })

    test('records the loss of a sandbox that died while the store did not answer', async () => {
      const { session, executionId } = await alice.start('a', 'exec sleep 600')
      faults.isDown = true
      for (const name of await server.sandboxes()) await server.backend.destroy(name)
      // Some failures have to happen before it answers again.
      await eventually(() => server.logged.filter((line) => line.includes('store-retry')).length).toBeGreaterThan(0)
      faults.isDown = false
      await eventually(async () => (await execution(session.id, executionId)).status).toBe('lost')
      await eventually(async () => (await row(session.id)).state).toBe('suspended')
      expect(await row(session.id)).toMatchObject({ running: 0 })
    })

    test('starts a process again that ended while the store did not answer', async () => {
      const { session } = await alice.sh('a', 'true')
      const command = { argv: ['/bin/sh', '-c', 'while [ ! -e go ]; do sleep 0.05; done; rm go; exit 1'] }
      const restart = { policy: 'always', backoff_ms: 100 } as const
      const { signal } = new AbortController()
      const first = await server.sessions.processes.start(alice.caller, session.id, { name: 'p', command, restart }, signal)
      faults.failWrites(END, 3, 'before')
      await alice.sh({ id: session.id }, 'touch go').catch(() => undefined)
      await eventually(async () => (await execution(session.id, first.id)).status).toBe('completed')
      await eventually(async () => (await server.sessions.processes.get(alice.caller, session.id, 'p')).id).not.toBe(first.id)
    })

    test('ends the work of a session whose ends could not be stored for a while', async () => {
      const { session } = await alice.sh('a', 'true')
      faults.failWrites(END, 8, 'before')
      await Promise.all(Array.from({ length: 4 }, () => alice.start('a', 'exit 0')))
      await server.sessions.steering.cancelWork(alice.caller, session.id, { processes: true })
      expect(await row(session.id)).toMatchObject({ running: 0 })
    })

    test('gives up a pending end when it stops, and the next start has it from the guest', async () => {
      const { session } = await alice.sh('a', 'true')
      faults.failWrites(END, Number.POSITIVE_INFINITY, 'before')
      const { executionId } = await alice.sh('a', 'echo kept; exit 6')
      await server.close()
      server = await ground.start('one')
      alice = await personOf(server)
      await eventually(async () => (await execution(session.id, executionId)).status).toBe('completed')
      expect(await execution(session.id, executionId)).toMatchObject({ exitCode: 6 })
      expect(await alice.printed(session.id, executionId)).toBe('kept\n')
    })
  })
}
