/** A guest that does not answer, or is gone: which commands fail, when, and that the next one has another sandbox. */
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import { signalPid } from '../sandboxes/backends/jail/process-identity.ts'

/** The promise is timeout + 5 s; the rest is for a busy machine. A guest that is waited for keeps its caller for more than 40 s. */
const BOUND_MS = 35_000

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`a guest on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person

    beforeEach(async () => {
      ground = openGround(under)
      server = await ground.start()
      alice = await personOf(server)
    })
    afterEach(async () => {
      signalGuests('SIGCONT')
      await ground.close()
    })
    const signalGuests = (signal: 'SIGSTOP' | 'SIGCONT') => {
      const guests = ground.processes().filter(({ command }) => /guest serve /.test(command) && !/bwrap|launcher/.test(command))
      for (const { pid } of guests) signalPid(pid, signal)
    }

    const destroyedAndNoticed = async (name: string) => {
      await server.backend.destroy(name)
      // The kernel has closed the connection; the event loop reports it in one full turn.
      await setImmediate()
      await setImmediate()
    }

    test('that never confirms a start fails the command at its timeout plus 5 seconds', async () => {
      const { session } = await alice.sh('a', 'echo kept > note')
      signalGuests('SIGSTOP')
      const since = performance.now()
      const told = await alice.sh('a', 'true', { timeoutMs: 1_000 })
      expect(told.status).toBe('lost')
      expect(performance.now() - since).toBeLessThan(BOUND_MS)
      const next = await alice.sh('a', 'cat note')
      expect(next).toMatchObject({ status: 'completed', stdout: 'kept\n', session: { id: session.id, incarnation: 2 } })
    })

    test('that is gone before a command was sent does not end the command: it runs once, in the next sandbox, under its id', async () => {
      const { session } = await alice.sh('a', 'echo kept > note')
      const [name = ''] = await server.sandboxes()
      const executionId = 'exe_0000000000000001'
      let records = 0
      const told = await alice.sh('a', 'cat note; echo run >> runs', {
        executionId,
        async alongside() {
          records += 1
          if (records === 1) await destroyedAndNoticed(name)
        },
      })
      expect(told).toMatchObject({ status: 'completed', stdout: 'kept\n', executionId, session: { id: session.id, incarnation: 2 } })
      expect(records).toBe(2)
      expect((await alice.sh('a', 'cat runs')).stdout).toBe('run\n')
      const executions = await server.sessions.commands.list(alice.caller, session.id, null, 10)
      expect(executions.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed'])
    })

    test('that freezes while a command runs fails it at its timeout plus 5 seconds', async () => {
      const since = performance.now()
      const end = await alice.attend('a', 'echo there; exec sleep 600', ({ finish }) => finish(() => signalGuests('SIGSTOP')), {
        timeoutMs: 1_000,
      })
      expect(end.status).toBe('lost')
      expect(performance.now() - since).toBeLessThan(BOUND_MS)
    })
  })
}
