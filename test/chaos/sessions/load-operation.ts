/**
 * A busy server: several sessions at once, long outputs, named processes, cancels, suspensions. It never ends by itself.
 *
 * What it says has the id in its name, because there is much of it: `started exe_…`, `ended exe_…`, `session ses_…`, `asked ses_…`.
 */
import { isHoldfastError } from '@holdfast/protocol'
import { seededRandom } from '../../../packages/server/src/sandboxes/contract/seeded-random.ts'
import { printingScript } from '../numbered-lines.ts'
import { readySession, runCommand, shell, startCommand, untilPrinted } from './actions.ts'
import type { Aftermath } from './aftermath.ts'
import { checkNumberedOutput } from './numbered-output.ts'
import type { Operation, Say } from './operation.ts'
import type { ServerLife } from './server-life.ts'

const WORKERS = 4
/** What a session does next, by chance. */
type Deed = (life: ServerLife, sessionId: string, say: Say) => Promise<void>

const DEEDS: readonly Deed[] = [
  async (life, sessionId, say) => {
    const script = 'head -c 200000 /dev/zero; exit 7'
    const end = await runCommand(life, life.caller, sessionId, shell(script), (id) => say({ [`started ${id}`]: sessionId }))
    say({ [`ended ${end.executionId}`]: end.status })
  },
  async (life, sessionId, say) => {
    const id = await startCommand(life, sessionId, shell(printingScript('slow')))
    say({ [`started ${id}`]: sessionId, [`printer ${id}`]: sessionId })
    await untilPrinted(life, sessionId, id, 50)
    await life.plane.sessions.commands.cancel(life.caller, sessionId, id, 0)
    say({ [`ended ${id}`]: 'cancelled' })
  },
  async (life, sessionId, say) => {
    const id = await startCommand(life, sessionId, shell(printingScript('fast')), 'printer')
    say({ [`started ${id}`]: sessionId, [`printer ${id}`]: sessionId })
    await untilPrinted(life, sessionId, id, 3_000_000)
  },
  async (life, sessionId) => {
    await life.plane.sessions.steering.cancelWork(life.caller, sessionId, { processes: true, graceMs: 0 })
  },
  async (life, sessionId) => {
    await life.plane.sessions.steering.suspend(life.caller, sessionId)
  },
  async (life, sessionId, say) => {
    say({ [`asked ${sessionId}`]: true })
    await life.plane.sessions.steering.cancel(life.caller, sessionId)
    say({ [`cancelled ${sessionId}`]: true })
  },
]

async function work(life: ServerLife, worker: number, random: () => number, say: Say): Promise<never> {
  for (;;) {
    try {
      const { id } = await readySession(life, `key ${worker}`)
      say({ [`session ${id}`]: true })
      for (let deed = 0; deed < 6; deed += 1) await DEEDS[Math.floor(random() * DEEDS.length)]?.(life, id, say)
    } catch (error) {
      // Busy, suspended or cancelled by its neighbour in the list: that is the load.
      if (!isHoldfastError(error)) throw error
    }
  }
}

async function checkLoad(aftermath: Aftermath): Promise<void> {
  const { facts, sessions, executions, expect } = aftermath
  const found = await sessions()
  const keys = found.filter(({ state }) => !['released', 'cancelled', 'expired', 'failed'].includes(state)).map(({ key }) => key)
  expect(new Set(keys).size === keys.length, `a key has several sessions: ${keys.join(', ')}`)
  expect(!found.some(({ state }) => state === 'failed'), 'a session has failed')
  for (const { id, state } of found)
    if (facts[`cancelled ${id}`] === true) expect(state === 'cancelled', `${id} was cancelled and is ${state}`)
  const ids = new Set(found.map(({ id }) => id))
  for (const name of Object.keys(facts).filter((each) => each.startsWith('session ')))
    expect(ids.has(name.replace('session ', '')), `${name} is gone`)
  for (const session of found)
    for (const { id, status, outputSeq } of await executions(session.id)) {
      const said = facts[`ended ${id}`]
      expect(said === undefined || said === status, `${id} was said to be ${String(said)} and is ${status}`)
      expect(status !== 'lost' || facts[`started ${id}`] === undefined, `${id} was started and is lost`)
      if (facts[`printer ${id}`] !== undefined) await checkNumberedOutput(aftermath, session.id, id, Math.min(outputSeq, 1))
    }
}

export const LOAD_OPERATIONS = {
  load: {
    async act(life, say, { seed }) {
      const random = seededRandom(String(seed))
      say({ ready: true, load: true })
      await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(life, worker, random, say)))
    },
    check: checkLoad,
  },
} as const satisfies Readonly<Record<string, Operation>>
