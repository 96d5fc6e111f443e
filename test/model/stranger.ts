/**
 * Everything that can be asked about a session, asked by those who may not: what they do not see is as if it were not there.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Caller } from '../../packages/server/src/sessions/caller.ts'
import { findOwner } from './owners.ts'
import type { Answer } from './possibility.ts'
import { OWNER_NAMES } from './rules.ts'
import type { Owner } from './rules.ts'
import type { System } from './system.ts'
import type { World } from './world.ts'

const NOWHERE = 'ses_0000000000000000'
const NEVER = new AbortController().signal
const COMMAND = { command: { argv: ['true'], cwd: '/' } }

type Ask = (system: System, caller: Caller, id: string, execution: string) => Promise<unknown>

const ASKED: Readonly<Record<string, Ask>> = {
  read: ({ plane }, caller, id) => plane.sessions.reads.open(caller, 'read', id),
  run: ({ plane }, caller, id) => plane.sessions.commands.run(caller, { id }, COMMAND, NEVER, ({ finish }) => finish(() => undefined)),
  start: ({ plane }, caller, id) => plane.sessions.commands.start(caller, { id }, COMMAND, NEVER),
  execution: ({ plane }, caller, id, execution) => plane.sessions.commands.get(caller, id, execution),
  executions: ({ plane }, caller, id) => plane.sessions.commands.list(caller, id, null, 10),
  output: ({ plane }, caller, id, execution) => plane.sessions.commands.output(caller, id, execution),
  'cancel-execution': ({ plane }, caller, id, execution) => plane.sessions.commands.cancel(caller, id, execution),
  refresh: ({ plane }, caller, id) => plane.sessions.steering.refresh(caller, id, {}),
  suspend: ({ plane }, caller, id) => plane.sessions.steering.suspend(caller, id),
  resume: ({ plane }, caller, id) => plane.sessions.steering.resume(caller, id),
  'cancel-work': ({ plane }, caller, id) => plane.sessions.steering.cancelWork(caller, id),
  cancel: ({ plane }, caller, id) => plane.sessions.steering.cancel(caller, id),
  release: ({ plane }, caller, id) => plane.sessions.steering.release(caller, id),
  hold: ({ plane }, caller, id) => plane.sessions.steering.hold(caller, id, null),
  unhold: ({ plane }, caller, id) => plane.sessions.steering.unhold(caller, id),
  transfer: ({ plane }, caller, id) =>
    plane.sessions.steering.transfer(caller, id, { owner: caller.owner, ownerGroup: null, expectedVersion: 1 }),
  relabel: ({ plane }, caller, id) => plane.sessions.steering.relabel(caller, id, { labels: {} }),
}

/** Seen by an administrator, who may do all of the rest. */
const NOT_FOR_ADMINISTRATORS = ['run', 'start', 'output', 'cancel-execution']

export async function performStranger(system: System, world: World, index: number, verb: number): Promise<Answer> {
  const owner = findOwner(world, index)
  const id = system.sessionIds[index] ?? ''
  const [name, ask] = Object.entries(ASKED)[verb % Object.keys(ASKED).length] ?? []
  if (ask === undefined || name === undefined) throw new Error('there is nothing to ask')
  const number = world.sessions[index]?.executions[0]?.number
  const execution = system.executionIds.get(number ?? 0) ?? 'exe_0000000000000000'
  for (const other of OWNER_NAMES.filter((each) => each !== owner)) {
    const caller = await system.caller(other)
    const answer = await refusalOf(ask(system, caller, id, execution))
    if (answer !== (await refusalOf(ask(system, caller, NOWHERE, execution)))) return `${name} by ${other}: ${answer}`
    if (!answer.includes('"not_found"')) return `${name} by ${other}: ${answer}`
    const made = await refusalOf(createFor(system, caller, owner, world.sessions[index]?.key ?? 'one'))
    if (!made.includes('"forbidden"')) return `create for ${owner} by ${other}: ${made}`
    const listed = await system.plane.sessions.reads.list(caller, {}, null, 100)
    if (listed.some((session) => session.id === id)) return `listed for ${other}`
  }
  const viewer = await refusalOf(ask(system, await system.official('viewer', owner), id, execution))
  const isReading = ['read', 'execution', 'executions'].includes(name)
  if (!isReading && !viewer.includes('"forbidden"') && !world.sessions[index]?.isPurged) return `${name} by a viewer: ${viewer}`
  if (!NOT_FOR_ADMINISTRATORS.includes(name) || world.sessions[index]?.isPurged) return gone(world, index)
  const admin = await refusalOf(ask(system, await system.official('tenant_admin', owner), id, execution))
  return admin.includes('"forbidden"') ? 'ok' : `${name} by an administrator: ${admin}`
}

function createFor({ plane }: System, caller: Caller, owner: Owner, name: string): Promise<unknown> {
  const { key, scope, keyHash } = plane.scopes.resolveKey(name)
  return plane.sessions.getOrCreate(caller, { key: { key, scope, keyHash }, owner, wish: {} }, NEVER)
}

/** To those who could see it, a purged one is not there either. */
function gone(world: World, index: number): Answer {
  return world.sessions[index]?.isPurged ? 'not_found' : 'ok'
}

async function refusalOf(asked: Promise<unknown>): Promise<string> {
  try {
    await asked
    return 'done'
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    return JSON.stringify({ code: error.code, message: error.message, details: error.details })
  }
}
