/** An attended command whose server stops or dies: it runs on for a grace in which its caller may come back, and is then cancelled. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'

const WAITING = 'echo there; while [ ! -e go ]; do sleep 0.05; done; echo done; exit 7'

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`an attended command and a restart${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person

    const start = async (graceSeconds: number, more: Readonly<Record<string, string>> = {}) => {
      server = await ground.start('one', { HOLDFAST_SESSIONS_TERMINAL_GRACE_SECONDS: String(graceSeconds), ...more })
      alice = await personOf(server)
    }
    beforeEach(() => {
      ground = openGround(under)
    })
    afterEach(() => ground.close())
    const execution = (id: string, executionId: string) => server.sessions.commands.get(alice.caller, id, executionId)

    /** Attends a command, and stops the server while it runs. */
    async function stopDuring(script: string, executionId?: string) {
      const running = Promise.withResolvers<{ readonly id: string; readonly executionId: string }>()
      const told = alice.attend(
        'a',
        script,
        ({ executionId: started, session, finish }) => finish(() => running.resolve({ id: session.id, executionId: started })),
        { executionId },
      )
      const failed = told.catch((error: unknown) => error)
      const ids = await running.promise
      await server.close(0)
      return { ...ids, failure: await failed }
    }

    test('runs on when the server stops, and gives its real end to the caller who comes back with its id', async () => {
      await start(600)
      const { id, executionId, failure } = await stopDuring(WAITING, 'exe_0123456789abcdef')
      expect(failure).toMatchObject({ code: 'server_stopping', details: { session_id: id, execution_id: executionId } })
      await start(600)
      expect(await execution(id, executionId)).toMatchObject({ status: 'running' })
      const printed: string[] = []
      const resumed = server.sessions.commands.resume(alice.caller, executionId, new AbortController().signal, ({ finish }) =>
        finish(({ bytes }) => void printed.push(bytes.toString())),
      )
      await alice.sh({ id }, 'touch go')
      expect(await resumed).toMatchObject({ status: 'completed', exitCode: 7 })
      expect(printed.join('')).toBe('there\ndone\n')
      const again = await server.sessions.commands.resume(alice.caller, executionId, new AbortController().signal, ({ finish }) =>
        finish(() => undefined),
      )
      expect(again).toMatchObject({ status: 'completed', exitCode: 7 })
    })

    test('is cancelled when nobody comes back for it within the grace', async () => {
      await start(600)
      const { id, executionId } = await stopDuring(WAITING)
      await start(1)
      await eventually(
        async () => (await server.store.read((sql) => sql.get('SELECT status FROM executions WHERE id = ?', executionId)))?.['status'],
      ).toBe('cancelled')
      expect(await execution(id, executionId)).toMatchObject({ status: 'cancelled' })
    })

    test('is left alone while somebody follows its output', async () => {
      await start(600)
      const { id, executionId } = await stopDuring(WAITING)
      await start(1)
      const output = await server.sessions.commands.output(alice.caller, id, executionId)
      if (!('follow' in output)) throw new Error('it has ended')
      const leave = new AbortController()
      const following = (async () => {
        for await (const _ of output.follow(0, leave.signal)) continue
      })()
      // A detached command of the same length as the grace proves that the grace is over.
      await alice.sh({ id }, 'sleep 2')
      expect(await server.store.read((sql) => sql.get('SELECT status FROM executions WHERE id = ?', executionId))).toEqual({
        status: 'running',
      })
      leave.abort()
      await following
      await eventually(
        async () => (await server.store.read((sql) => sql.get('SELECT status FROM executions WHERE id = ?', executionId)))?.['status'],
      ).toBe('cancelled')
    })

    test('is cancelled at once when the server stops without keeping its sandboxes', async () => {
      await start(600, { HOLDFAST_SESSIONS_ON_STOP: 'suspend' })
      const { id, executionId } = await stopDuring(WAITING)
      await start(600)
      expect(await execution(id, executionId)).toMatchObject({ status: 'cancelled' })
    })

    test('that was left running on purpose has no grace', async () => {
      await start(600)
      const { session, executionId } = await alice.start('a', WAITING)
      await server.close(0)
      await start(1)
      await alice.sh('a', 'sleep 2')
      expect(await execution(session.id, executionId)).toMatchObject({ status: 'running' })
    })
  })
}
