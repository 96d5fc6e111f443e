/** Ending work on real sandboxes: everything of it, however it hid, and nothing of anybody else. */
import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import { processesOf } from '../sandboxes/contract/traces.ts'
import { attachSandbox } from '../sandboxes/live-sandbox.ts'

const LOOP = 'while :; do sleep 1; done'
/** Ways for a program to outlive whoever started it. What hides is `sh -c ': MARK …'`. */
const HIDING = {
  'setsid and nohup': `setsid nohup sh -c ': MARK; ${LOOP}' & wait`,
  'setsid and nohup, its parent gone': `setsid nohup sh -c ': MARK; ${LOOP}' & exit 0`,
  'forked twice': `(setsid sh -c '(sh -c ": MARK; ${LOOP}" &)' &); sleep 600`,
  'deaf to TERM and HUP': `trap '' TERM HUP INT; setsid sh -c ': MARK; ${LOOP}' & ${LOOP}`,
  'deaf, forked twice, its parents gone': `trap '' TERM HUP INT; (setsid sh -c '(sh -c ": MARK; ${LOOP}" &)' &); exit 0`,
} as const
const WAYS = Object.entries(HIDING)

for (const under of await backendsAbovePort()) {
  describe.skipIf(under.skipReason !== null)(`ending work on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    let mark: string

    beforeEach(async () => {
      ground = openGround(under)
      server = await ground.start()
      alice = await personOf(server)
      mark = `mark-${crypto.randomUUID()}`
    })
    afterEach(() => ground.close())

    /** The command lines, as the host sees them, of everything that bears the mark. */
    const marked = (which = mark) => processesOf(which).map(({ command }) => command)
    /** Each once: a loop that forks has its command line twice for a moment. */
    const namesOf = (which: string) => [...new Set(marked(which).map((command) => / (\w+);/.exec(command)?.[1] ?? command))]
    /** Leaves the script running, and resolves once what hides is there. */
    const begin = async (script: string, name?: string) => {
      const hidden = `${mark}-${crypto.randomUUID()}`
      const started = await alice.start('work', script.replaceAll('MARK', hidden), { name })
      await eventually(() => marked(hidden).some((command) => command.startsWith(`sh -c : ${hidden}`))).toBe(true)
      return started
    }
    const execution = (id: string, executionId: string) => server.sessions.commands.get(alice.caller, id, executionId)
    const stateOf = async (id: string) => (await server.sessions.reads.open(alice.caller, 'read', id)).state
    const isIn = (state: string, id: string) => eventually(() => stateOf(id)).toBe(state)

    test.each(WAYS)('cancelling the work leaves no process that is %s', async (_, script) => {
      await alice.sh('work', 'echo kept > note')
      const { session, executionId } = await begin(script)
      expect(await server.sessions.steering.cancelWork(alice.caller, session.id, { graceMs: 200 })).toMatchObject({ verified: true })
      expect(marked()).toEqual([])
      expect((await execution(session.id, executionId)).status).not.toBe('running')
      // The session lives on in the same sandbox.
      expect(await alice.sh('work', 'cat note')).toMatchObject({ stdout: 'kept\n', session: { id: session.id, incarnation: 1 } })
      expect(await server.sessions.reads.open(alice.caller, 'read', session.id)).toMatchObject({ running: 0 })
    })

    test.each(WAYS)('cancelling the session leaves no process that is %s', async (_, script) => {
      const { session } = await begin(script)
      await server.sessions.steering.cancel(alice.caller, session.id)
      await isIn('cancelled', session.id)
      expect(marked()).toEqual([])
      expect(await server.sandboxes()).toEqual([])
      await expect(alice.sh({ id: session.id }, 'true')).rejects.toMatchObject({ code: 'session_closed' })
    })

    test('cancelling the session removes its files, however deep and however named', async () => {
      // From the inside out: the tree grows longer than any path, the paths here stay short.
      const deeper = 'mkdir -p "next/$name" && mv tree "next/$name/" && echo text > "next/$(printf "\\377")" && mv next tree'
      const { session, exitCode } = await alice.sh(
        'work',
        `set -e; name=$(printf '%0200d' 0); mkdir tree; for i in $(seq 50); do ${deeper}; done`,
      )
      expect(exitCode).toBe(0)
      await server.sessions.steering.cancel(alice.caller, session.id)
      await isIn('cancelled', session.id)
      expect(readdirSync(server.home.workspacesDir)).toEqual([])
    })

    test('an execution whose caller leaves is cancelled whole', async () => {
      const caller = new AbortController()
      const attended = alice.attend(
        'work',
        `setsid nohup sh -c ': MARK; echo ready; ${LOOP}' & wait`.replaceAll('MARK', mark),
        ({ finish }) => finish(({ bytes }) => void (bytes.includes('ready') && caller.abort())),
        { signal: caller.signal },
      )
      expect(await attended).toMatchObject({ status: 'cancelled' })
      expect(marked()).toEqual([])
    })

    test('a time-out ends the tree of that execution and leaves every other process of the session alone', async () => {
      const named = await begin(`exec sh -c ': MARK named; ${LOOP}'`, 'server')
      const { id } = named.session
      const second = await begin(`exec sh -c ': MARK second; ${LOOP}'`)
      const parent = await begin(`setsid sh -c ': MARK background; ${LOOP}' & exit 0`)
      await alice.ended(id, parent.executionId)
      expect(namesOf(mark).toSorted()).toEqual(['background', 'named', 'second'])
      const own = `mark-${crypto.randomUUID()}`
      const end = await alice.sh('work', `echo begun; ${HIDING['deaf to TERM and HUP'].replaceAll('MARK', own)}`, { timeoutMs: 5_000 })
      expect(end).toMatchObject({ status: 'timed_out', exitCode: null, signal: 'SIGKILL', stdout: 'begun\n' })
      expect(marked(own)).toEqual([])
      expect(namesOf(mark).toSorted()).toEqual(['background', 'named', 'second'])
      for (const { executionId } of [named, second]) expect(await execution(id, executionId)).toMatchObject({ status: 'running' })
      expect((await alice.sh('work', 'true')).session.incarnation).toBe(1)

      // One execution is cancelled alone, the work without named processes, and then those too.
      const { steering, commands } = server.sessions
      expect(await commands.cancel(alice.caller, id, second.executionId)).toMatchObject({ executions: 1, verified: true })
      expect(namesOf(mark).toSorted()).toEqual(['background', 'named'])
      await steering.cancelWork(alice.caller, id)
      expect(namesOf(mark)).toEqual(['named'])
      await steering.cancelWork(alice.caller, id, { processes: true })
      expect(marked()).toEqual([])
      expect(await execution(id, named.executionId)).toMatchObject({ status: 'cancelled', kind: 'process', name: 'server' })
    })

    test('a release lets running work end, and what is left in the background ends with the session', async () => {
      await begin(HIDING['setsid and nohup, its parent gone'])
      const { session, executionId } = await begin(`sh -c ': MARK; until [ -e go ]; do sleep 0.1; done'; echo went`)
      await server.sessions.steering.release(alice.caller, session.id)
      await expect(alice.sh({ id: session.id }, 'true')).rejects.toMatchObject({ code: 'session_closed' })
      expect(await stateOf(session.id)).toBe('closing')
      expect(await execution(session.id, executionId)).toMatchObject({ status: 'running' })
      const [name = ''] = await server.sandboxes()
      const live = await attachSandbox(server.backend, name)
      await live.inside.files.write('/workspace/go', '')
      live.detach()
      await isIn('released', session.id)
      expect(await execution(session.id, executionId)).toMatchObject({ status: 'completed', exitCode: 0 })
      expect(await alice.printed(session.id, executionId)).toBe('went\n')
      expect(marked()).toEqual([])
    })

    test('a cancel does not wait for the work that a release waits for', async () => {
      const { session, executionId } = await begin(`exec sh -c ': MARK; ${LOOP}'`)
      await server.sessions.steering.release(alice.caller, session.id)
      expect(await stateOf(session.id)).toBe('closing')
      await server.sessions.steering.cancel(alice.caller, session.id)
      await isIn('cancelled', session.id)
      expect(await execution(session.id, executionId)).toMatchObject({ status: 'cancelled' })
      expect(marked()).toEqual([])
    })
  })
}
