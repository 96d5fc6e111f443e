/**
 * Operations in which several things happen at once, or several servers are at work.
 */
import { TenantPolicy } from '@holdfast/protocol'
import { DEFAULT_TENANT_ID } from '../../../packages/server/src/access/principal.ts'
import { printingScript } from '../numbered-lines.ts'
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
} from './actions.ts'
import type { Aftermath } from './aftermath.ts'
import { checkNumberedOutput } from './numbered-output.ts'
import type { Operation } from './operation.ts'
import { OWNER } from './server-life.ts'
import type { ServerLife } from './server-life.ts'
import { settle } from './settle.ts'
import { checkUsable } from './usable.ts'

const DAY_MS = 86_400_000
const PROFILE = 'together'

async function checkCrowd(aftermath: Aftermath): Promise<void> {
  const { facts, sessionOf, executionOf, expect } = aftermath
  const printer = await executionOf('printer')
  expect(printer?.status === 'running', `the printer is ${printer?.status}`)
  if (printer !== null) await checkNumberedOutput(aftermath, printer.sessionId, printer.id, 100)
  const expectations = [
    ['doomed', 'cancelled', ['active', 'cancelled']],
    ['drained', 'released', ['active', 'idle', 'released']],
    ['paused', 'suspended', ['idle', 'suspended']],
    ['fresh', 'idle', ['idle']],
  ] as const
  for (const [name, state, possible] of expectations) {
    const session = await sessionOf(name)
    if (session === null) continue
    if (facts[`${name} acknowledged`] === true) expect(session.state === state, `the ${name} one is ${session.state}`)
    else
      expect(
        possible.some((each) => each === session.state),
        `the ${name} one is ${session.state}`,
      )
  }
  const draining = await executionOf('draining')
  expect(draining?.status === 'completed', `the command that was waited for is ${draining?.status}`)
}

async function allowPacking({ plane }: ServerLife): Promise<void> {
  const { version } = await plane.tenants.get(OWNER, DEFAULT_TENANT_ID)
  await plane.tenants.setPolicy(OWNER, DEFAULT_TENANT_ID, version, TenantPolicy.parse({ packing: { profiles: [PROFILE] } }))
}

export const CROWD_OPERATIONS = {
  'five at once': {
    async prepare(life, say) {
      const keys = ['busy', 'doomed', 'drained', 'paused']
      const [busy = '', doomed = '', drained = '', paused = ''] = (await Promise.all(keys.map((key) => readySession(life, key)))).map(
        ({ id }) => id,
      )
      const printer = await startCommand(life, busy, shell(printingScript('slow')), 'printer')
      const draining = await startCommand(life, drained, journalCommand(0.3))
      await startCommand(life, doomed, endlessCommand())
      say({ busy, doomed, drained, paused, printer, draining, ends: draining, [`asked ${doomed}`]: true })
    },
    async act(life, say, { doomed, drained, paused }) {
      const { steering, getOrCreate } = life.plane.sessions
      await Promise.all([
        getOrCreate(life.caller, requestOf(life, 'fresh'), never()).then(({ session }) =>
          say({ fresh: session.id, 'fresh acknowledged': true }),
        ),
        steering.cancel(life.caller, String(doomed)).then(() => say({ 'doomed acknowledged': true })),
        steering.release(life.caller, String(drained)).then(() => say({ 'drained acknowledged': true })),
        steering.suspend(life.caller, String(paused)).then(() => say({ 'paused acknowledged': true })),
      ])
      await settle(life, null)
    },
    check: checkCrowd,
  },

  restart: {
    after: { operation: 'five at once', killAt: 11, homeName: 'home' },
    countsRecovery: true,
    async act(life) {
      await settle(life, null)
    },
    check: checkCrowd,
  },

  'left to another server': {
    isShared: true,
    isOnlyBefore: true,
    homeName: 'first',
    async act(life, say) {
      const { id } = await readySession(life, 'a')
      say({ session: id, process: await startCommand(life, id, endlessCommand(), 'endless') })
    },
    async check({ executionOf, expect }) {
      const { status } = (await executionOf('process')) ?? { status: 'running' }
      expect(status === 'running', `its process is ${status}`)
    },
  },

  'take over': {
    after: { operation: 'left to another server', killAt: null, homeName: 'first' },
    isShared: true,
    homeName: 'second',
    async prepare(life, say) {
      life.wait(DAY_MS)
      say({ aheadMs: DAY_MS, sandboxLost: true, filesGone: true })
    },
    async act(life, say, { session }) {
      await runCommand(life, life.caller, String(session), shell('exit 7'), (execution) => say({ execution }))
    },
    async check(aftermath) {
      const { life, executionOf, sessionOf, expect } = aftermath
      const session = await sessionOf('session')
      if (session === null) return
      await checkUsable(aftermath, session.id)
      const taken = await life.plane.sessions.reads.open(life.caller, 'read', session.id)
      expect(taken.serverId === life.home.serverId && taken.incarnation === 2, `it is on ${taken.serverId} at ${taken.incarnation}`)
      expect(taken.workspace === 'lost', `files that are on another server are called ${taken.workspace}`)
      const { status } = (await executionOf('process')) ?? {}
      expect(status === 'lost', `what ran on the other server is ${status}`)
    },
  },

  'join a pack': {
    async prepare(life, say) {
      await allowPacking(life)
      const { id } = await readySession(life, 'a', { pack: PROFILE })
      say({ first: id, process: await startCommand(life, id, endlessCommand(), 'endless') })
    },
    async act(life, say) {
      const { session } = await life.plane.sessions.getOrCreate(life.caller, requestOf(life, 'b', { pack: PROFILE }), never())
      say({ second: session.id })
      await untilState(life, session.id, 'idle')
    },
    async check(aftermath) {
      const { life, sessionOf, executionOf, expect } = aftermath
      const [first, second] = [await sessionOf('first'), await sessionOf('second')]
      expect((await executionOf('process'))?.status === 'running', 'the process of the first one does not run')
      expect(first?.incarnation === 1, `the first one is at ${first?.incarnation}`)
      if (second !== null)
        expect(second.state === 'idle' && second.sandboxId === first?.sandboxId, `the second one is ${second.state} elsewhere`)
      await checkUsable(aftermath, (await readySession(life, 'b', { pack: PROFILE })).id)
    },
  },

  'leave a pack': {
    async prepare(life, say) {
      await allowPacking(life)
      const [first, second] = [await readySession(life, 'a', { pack: PROFILE }), await readySession(life, 'b', { pack: PROFILE })]
      const process = await startCommand(life, first.id, endlessCommand(), 'endless')
      await startCommand(life, second.id, endlessCommand())
      say({ first: first.id, second: second.id, process, [`asked ${second.id}`]: true })
    },
    async act(life, say, { second }) {
      await life.plane.sessions.steering.cancel(life.caller, String(second))
      say({ acknowledged: true })
      await untilState(life, String(second), 'cancelled')
      await untilNoSandbox(life, String(second))
    },
    async check({ facts, sessionOf, executionOf, expect }) {
      const [first, second] = [await sessionOf('first'), await sessionOf('second')]
      expect((await executionOf('process'))?.status === 'running', 'the process of the first one does not run')
      expect(first?.state === 'active' && first.incarnation === 1, `the first one is ${first?.state} at ${first?.incarnation}`)
      if (facts['acknowledged'] === true) expect(second?.state === 'cancelled', `the second one is ${second?.state}`)
    },
  },
} as const satisfies Readonly<Record<string, Operation>>
