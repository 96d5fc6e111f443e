/** A guest that does not answer: its command fails soon after its timeout, and the next one has another sandbox. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import { signalPid } from '../sandboxes/backends/jail/process-identity.ts'

/** The promise is timeout + 5 s; the rest is for a busy machine. A guest that is waited for keeps its caller for more than 40 s. */
const BOUND_MS = 35_000

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`a frozen guest on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let alice: Person

    beforeEach(async () => {
      ground = openGround(under)
      alice = await personOf(await ground.start())
    })
    afterEach(async () => {
      signalGuests('SIGCONT')
      await ground.close()
    })
    const signalGuests = (signal: 'SIGSTOP' | 'SIGCONT') => {
      const guests = ground.processes().filter(({ command }) => /guest serve /.test(command) && !/bwrap|launcher/.test(command))
      for (const { pid } of guests) signalPid(pid, signal)
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
