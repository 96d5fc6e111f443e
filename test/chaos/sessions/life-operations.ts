/**
 * What happens to one session in its life, from its creation to the end of its record.
 */
import { rm } from 'node:fs/promises'
import {
  endlessCommand,
  journalCommand,
  never,
  readySession,
  requestOf,
  runCommand,
  shell,
  startCommand,
  untilNoSandbox,
  untilState,
  untilWritten,
} from './actions.ts'
import type { Aftermath } from './aftermath.ts'
import type { Operation } from './operation.ts'
import { checkUsable } from './usable.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

async function checkClosed({ facts, sessionOf, expect }: Aftermath, state: string): Promise<void> {
  const session = await sessionOf('session')
  if (session === null) return
  if (facts['acknowledged'] === true) expect(session.state === state, `the session is ${session.state} instead of ${state}`)
  else expect([state, 'idle', 'active'].includes(session.state), `the session is ${session.state}`)
}

export const LIFE_OPERATIONS = {
  create: {
    async act(life, say) {
      const { session } = await life.plane.sessions.getOrCreate(life.caller, requestOf(life, 'a'), never())
      say({ session: session.id })
      await untilState(life, session.id, 'idle')
    },
    async check(aftermath) {
      const { life, sessionOf, sessions, expect } = aftermath
      const session = await sessionOf('session')
      const all = await sessions()
      expect(all.length <= 1, `${all.length} sessions for one key`)
      for (const { state, incarnation, workspace } of all)
        expect(state === 'idle' && incarnation === 1 && workspace === 'intact', `it is ${state}, ${incarnation}, ${workspace}`)
      const again = await readySession(life, 'a')
      expect(session === null || again.id === session.id, 'its key leads to another session')
      await checkUsable(aftermath, again.id)
    },
  },

  cancel: {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a')
      say({ session: id, doomed: await startCommand(life, id, endlessCommand()), asked: true })
    },
    async act(life, say, { session }) {
      await life.plane.sessions.steering.cancel(life.caller, String(session))
      say({ acknowledged: true })
      await untilState(life, String(session), 'cancelled')
      await untilNoSandbox(life, String(session))
    },
    async check(aftermath) {
      await checkClosed(aftermath, 'cancelled')
      const { status = 'gone' } = (await aftermath.executionOf('doomed')) ?? {}
      aftermath.expect(['running', 'cancelled'].includes(status), `its command is ${status}`)
    },
  },

  release: {
    async prepare(life, say) {
      say({ session: (await readySession(life, 'a')).id })
    },
    async act(life, say, { session }) {
      await life.plane.sessions.steering.release(life.caller, String(session))
      say({ acknowledged: true })
      await untilState(life, String(session), 'released')
      await untilNoSandbox(life, String(session))
    },
    check: (aftermath) => checkClosed(aftermath, 'released'),
  },

  'release and drain': {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a')
      say({ session: id, draining: await startCommand(life, id, journalCommand(0.3)), ends: true })
    },
    async act(life, say, { session }) {
      await life.plane.sessions.steering.release(life.caller, String(session), { workspace: 'keep' })
      say({ acknowledged: true })
      await untilState(life, String(session), 'released')
      await untilNoSandbox(life, String(session))
    },
    async check(aftermath) {
      await checkClosed(aftermath, 'released')
      const { status } = (await aftermath.executionOf('draining')) ?? {}
      aftermath.expect(status === 'completed', `the command that was waited for is ${status}`)
    },
  },

  expire: {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a', { times: { lifetimeMs: HOUR_MS } })
      say({ session: id, doomed: await startCommand(life, id, endlessCommand()), asked: true, aheadMs: HOUR_MS })
    },
    async act(life, _say, { session }) {
      life.wait(HOUR_MS)
      await life.plane.sessions.sweep()
      await untilState(life, String(session), 'expired')
      await untilNoSandbox(life, String(session))
    },
    async check({ sessionOf, executionOf, expect }) {
      const { state } = (await sessionOf('session')) ?? {}
      expect(state === 'expired', `the session is ${state}`)
      const { status } = (await executionOf('doomed')) ?? {}
      expect(status === 'cancelled', `its command is ${status}`)
    },
  },

  suspend: {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a')
      await runCommand(life, life.caller, id, shell('echo kept > note; exit 7'))
      say({ session: id })
    },
    async act(life, say, { session }) {
      await life.plane.sessions.steering.suspend(life.caller, String(session))
      say({ acknowledged: true })
      await untilNoSandbox(life, String(session))
    },
    async check(aftermath) {
      const { facts, sessionOf, file, expect } = aftermath
      const session = await sessionOf('session')
      if (session === null) return
      if (facts['acknowledged'] === true) expect(session.state === 'suspended', `it is ${session.state}`)
      expect(session.incarnation === (session.state === 'suspended' ? 2 : 1), `it is ${session.state} at ${session.incarnation}`)
      expect((await file(session.id, 'note')) === 'kept\n', 'its file is lost')
      await checkUsable(aftermath, session.id)
    },
  },

  resume: {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a')
      await runCommand(life, life.caller, id, shell('echo kept > note; exit 7'))
      await life.plane.sessions.steering.suspend(life.caller, id)
      await untilNoSandbox(life, id)
      say({ session: id })
    },
    async act(life, say, { session }) {
      await life.plane.sessions.steering.resume(life.caller, String(session))
      say({ acknowledged: true })
      await untilState(life, String(session), 'idle')
    },
    async check(aftermath) {
      const { facts, sessionOf, file, expect } = aftermath
      const session = await sessionOf('session')
      if (session === null) return
      expect(session.incarnation === 2, `it is at ${session.incarnation}`)
      expect(session.state === 'idle' || (session.state === 'suspended' && facts['acknowledged'] !== true), `it is ${session.state}`)
      expect((await file(session.id, 'note')) === 'kept\n', 'its file is lost')
      await checkUsable(aftermath, session.id)
    },
  },

  'resume without the files': {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a')
      await life.plane.sessions.steering.suspend(life.caller, id)
      await untilNoSandbox(life, id)
      await rm(`${life.home.workspacesDir}/${id}`, { recursive: true })
      say({ session: id, filesGone: true })
    },
    async act(life, _say, { session }) {
      await life.plane.sessions.steering.resume(life.caller, String(session))
      await untilState(life, String(session), 'idle')
    },
    async check(aftermath) {
      const { life, sessionOf, expect } = aftermath
      const session = await sessionOf('session')
      if (session === null) return
      await checkUsable(aftermath, session.id)
      const { workspace } = await life.plane.sessions.reads.open(life.caller, 'read', session.id)
      expect(workspace === 'lost', `a fresh disk is called ${workspace}`)
    },
  },

  'rebind after a loss': {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a')
      await runCommand(life, life.caller, id, shell('echo kept > note; exit 7'))
      say({ session: id, lost: await startCommand(life, id, endlessCommand()), sandboxLost: true })
    },
    async act(life, say, { session }) {
      for (const { name } of await life.backend.list()) await life.backend.destroy(name)
      await runCommand(life, life.caller, String(session), shell('cat note; exit 7'), (execution) => say({ execution }))
    },
    async check(aftermath) {
      const { sessionOf, executionOf, file, expect } = aftermath
      const session = await sessionOf('session')
      const lost = await executionOf('lost')
      if (session === null || lost === null) return
      expect(lost.status === (session.incarnation === 1 ? 'running' : 'lost'), `at ${session.incarnation} its command is ${lost.status}`)
      expect((await file(session.id, 'note')) === 'kept\n', 'its file is lost')
      await checkUsable(aftermath, session.id)
    },
  },

  sweep: {
    async prepare(life, say) {
      const [drained, idle, old, over] = await Promise.all([
        readySession(life, 'drained', { times: { idleMs: DAY_MS } }),
        readySession(life, 'idle', { times: { idleMs: 60_000 } }),
        readySession(life, 'old', { times: { retentionMs: 60_000 } }),
        readySession(life, 'over', { times: { recordMs: 60_000 } }),
      ])
      await life.plane.sessions.steering.suspend(life.caller, old.id)
      await life.plane.sessions.steering.release(life.caller, over.id)
      for (const { id } of [old, over]) await untilNoSandbox(life, id)
      await runCommand(life, life.caller, drained.id, shell('exit 7'))
      // Before the clock moves: when it ended is when that was written.
      await untilWritten(life)
      say({ drained: drained.id, idle: idle.id, old: old.id, purged: over.id, aheadMs: HOUR_MS })
    },
    async act(life, say, { old, idle }) {
      life.wait(HOUR_MS)
      await life.plane.sessions.sweep()
      say({ acknowledged: true })
      await untilState(life, String(old), 'expired')
      await untilNoSandbox(life, String(idle))
    },
    async check({ sessionOf, sessions, fact, expect }) {
      const [drained, idle, old] = [await sessionOf('drained'), await sessionOf('idle'), await sessionOf('old')]
      expect(drained?.state === 'idle' && idle?.state === 'suspended', `they are ${drained?.state} and ${idle?.state}`)
      expect(old?.state === 'expired', `the old one is ${old?.state}`)
      expect(!(await sessions()).some(({ id }) => id === fact('purged')), 'the record of the one that was over is still there')
    },
  },

  purge: {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a', { workspaceOnClose: 'keep', times: { recordMs: HOUR_MS } })
      await runCommand(life, life.caller, id, shell(`head -c 100000 /dev/zero; exit 7`))
      await life.plane.sessions.steering.release(life.caller, id)
      await untilState(life, id, 'released')
      await untilNoSandbox(life, id)
      say({ purged: id, aheadMs: HOUR_MS })
    },
    async act(life) {
      life.wait(HOUR_MS)
      await life.plane.sessions.sweep()
    },
    async check({ sessions, expect }) {
      expect((await sessions()).length === 0, 'its record is still there')
    },
  },
} as const satisfies Readonly<Record<string, Operation>>
