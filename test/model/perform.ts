/**
 * Does an action to the system, and says what the caller was answered in the words of the model.
 */
import { rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isHoldfastError } from '@holdfast/protocol'
import type { Caller } from '../../packages/server/src/sessions/caller.ts'
import { findOwner } from './owners.ts'
import { isOnSession } from './actions.ts'
import type { Action, SessionAction } from './actions.ts'
import { interpret } from './model.ts'
import { performCreate } from './perform-create.ts'
import { performRun, performStart } from './perform-work.ts'
import type { Answer } from './possibility.ts'
import { settle, untilQuiet } from './settle.ts'
import { performStranger } from './stranger.ts'
import type { System } from './system.ts'
import type { World } from './world.ts'

/** A wrong version is one that no change nearby makes right. */
const FAR = 1000

/** `world` is what the model knew before the action, which has all its choices made. */
export async function perform(system: System, world: World, action: Action): Promise<Answer> {
  try {
    return await attempt(system, world, action)
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    if (error.code === 'quota_exceeded') return `quota_exceeded ${String(error.details['quota'])}`
    return error.code === 'session_incompatible' ? `session_incompatible ${[error.details['fields']].flat().join(' ')}` : error.code
  }
}

async function attempt(system: System, world: World, action: Action): Promise<Answer> {
  if (isOnSession(action)) return onSession(system, world, action)
  switch (action.type) {
    case 'create':
      return performCreate(system, action)
    case 'finish':
      await signalProgram(system, -action.execution)
      await untilEnded(system, -action.execution)
      return 'ok'
    case 'cancel-execution': {
      const { id, owner } = ofExecution(system, world, -action.execution)
      await system.plane.sessions.commands.cancel(await system.caller(owner), id, executionId(system, -action.execution))
      return 'ok'
    }
    case 'wait':
      system.time.advance(action.ms)
      return meanwhileThenSweep(system, world, action.meanwhile)
    case 'restart':
      return restart(system, world, action)
    case 'trouble':
      system.backend.trouble.create = action.with === 'create'
      system.backend.trouble.destroy = action.with === 'destroy' || action.with === 'break'
      system.backend.trouble.isUnexpected = action.with === 'break'
      await system.plane.sessions.sweep()
      return 'ok'
    case 'quickly': {
      const { length } = system.sessionIds
      const answer = await perform(system, world, action.first)
      // A refused creation left nothing to act on.
      if (action.first.type === 'create' && system.sessionIds.length === length && !answer.startsWith('known')) return 'ok'
      await perform(system, afterFirst(world, action.first), action.second)
      return 'ok'
    }
    case 'disorder':
      system.life.swapWrites()
      return perform(system, world, action.action)
    case 'overtake':
      await system.life.readingLate(
        () => perform(system, world, action.first),
        () => perform(system, afterFirst(world, action.first), action.second),
      )
      return 'ok'
    case 'both':
      await Promise.all([perform(system, world, action.one), perform(system, world, action.other)])
      return 'ok'
    case 'wait-for':
      throw new Error('a wait for a deadline is a wait of so many milliseconds by now')
  }
}

/** What the second of two needs to know: which sessions there are, and what they are. */
function afterFirst(world: World, first: Action): World {
  return interpret(world, first)[0]?.world ?? world
}

async function meanwhileThenSweep(system: System, world: World, meanwhile: Action | null): Promise<Answer> {
  const answer = meanwhile === null ? 'ok' : await perform(system, world, meanwhile)
  await settle(system)
  await system.plane.sessions.sweep()
  return answer
}

async function onSession(system: System, world: World, action: SessionAction): Promise<Answer> {
  const index = -1 - action.which
  const id = system.sessionIds[index] ?? ''
  const owner = findOwner(world, index)
  const { sessions } = system.plane
  const { steering, commands } = sessions
  const caller = await system.caller(owner)
  switch (action.type) {
    case 'run':
      return performRun(system, world, index, action)
    case 'start':
      return performStart(system, world, index, action)
    case 'cancel-work':
      await steering.cancelWork(caller, id, { processes: action.processes })
      return 'ok'
    case 'look':
      await sessions.reads.open(caller, 'read', id)
      await sessions.reads.list(caller, {}, null, 10)
      for (const { id: execution } of await commands.list(caller, id, null, 10)) {
        await commands.get(caller, id, execution)
        await commands.output(caller, id, execution)
      }
      return 'ok'
    case 'note':
      sessions.activity.note({ id, tenantId: caller.visibility.tenantId })
      return 'ok'
    case 'refresh':
      await steering.refresh(caller, id, { leaseMs: action.leaseMs ?? undefined, allowShorten: action.allowShorten })
      return 'ok'
    case 'suspend':
    case 'resume':
    case 'cancel':
      await steering[action.type](caller, id)
      return 'ok'
    case 'hold':
      await steering.hold(await system.official('operator', owner), id, 'a look at it')
      return 'ok'
    case 'unhold':
      await steering.unhold(await system.official('operator', owner), id)
      return 'ok'
    case 'release': {
      const { ifBusy, drainMs, workspace } = action
      await steering.release(caller, id, { ifBusy, drainMs: drainMs ?? undefined, workspace: workspace ?? undefined })
      return 'ok'
    }
    case 'transfer': {
      const admin = await system.official('platform_admin', owner)
      const expectedVersion = (await versionOf(system, admin, id)) + (action.expect === 'right' ? 0 : FAR)
      await steering.transfer(admin, id, { owner: action.to, ownerGroup: null, expectedVersion })
      return 'ok'
    }
    case 'relabel': {
      const version = (await versionOf(system, caller, id)) + (action.expect === 'right' ? 0 : FAR)
      const expected = action.expect === 'nothing' ? {} : { expectedVersion: version }
      await steering.relabel(caller, id, { labels: { label: action.label }, ...expected })
      return 'ok'
    }
    case 'stranger':
      return performStranger(system, world, index, action.verb)
    case 'lose-sandbox':
      await loseSandbox(system, id)
      return 'ok'
    case 'lose-workspace':
      await loseWorkspace(system, id)
      return 'ok'
  }
}

async function versionOf({ plane }: System, caller: Caller, id: string): Promise<number> {
  return (await plane.sessions.reads.open(caller, 'read', id)).version
}

async function restart(
  system: System,
  world: World,
  { how, first, meanwhile }: Extract<Action, { readonly type: 'restart' }>,
): Promise<Answer> {
  if (first !== null) await perform(system, world, first)
  if (how === 'stop') {
    await settle(system)
    await system.stop()
    // Whatever it does after that it does before it is gone.
    await untilQuiet(system)
  }
  await system.kill()
  if (meanwhile?.type === 'finish') await signalProgram(system, -meanwhile.execution)
  else if (meanwhile !== null) await perform(system, first === null ? world : afterFirst(world, first), meanwhile)
  await system.start()
  if (meanwhile?.type === 'finish') await untilEnded(system, -meanwhile.execution)
  const { sessions, reattached, lost } = system.plane.recovered
  return first === null ? `found ${sessions}, ${reattached} as they were, ${lost} lost` : 'ok'
}

async function loseSandbox({ store, backend }: System, sessionId: string): Promise<void> {
  const row = await store.read((sql) => sql.get(`SELECT sandbox_id FROM sessions WHERE id = ?`, sessionId))
  if (typeof row?.sandbox_id === 'string') await backend.lose(row.sandbox_id)
}

/** Nobody looks at the files of a suspended session: that is when they can get lost unseen. */
async function loseWorkspace({ store, home }: System, sessionId: string): Promise<void> {
  const row = await store.read((sql) => sql.get(`SELECT state FROM sessions WHERE id = ?`, sessionId))
  if (row?.state === 'suspended') rmSync(join(home.workspacesDir, sessionId), { recursive: true, force: true })
}

/** The program writes down which process it is as soon as it runs. */
async function signalProgram({ scratch }: System, number: number): Promise<void> {
  for (;;) {
    const text = await readFile(join(scratch, `${number}.pid`), 'utf8').catch(() => '')
    if (text.endsWith('\n')) return void process.kill(Number(text), 'SIGUSR1')
    await delay(1)
  }
}

async function untilEnded(system: System, number: number): Promise<void> {
  for (;;) {
    const row = await system.store.read((sql) => sql.get(`SELECT status FROM executions WHERE id = ?`, executionId(system, number)))
    if (row?.status !== 'running') return
    await delay(1)
  }
}

function executionId({ executionIds }: System, number: number): string {
  const id = executionIds.get(number)
  if (id === undefined) throw new Error(`the system has no execution ${number}`)
  return id
}

function ofExecution({ sessionIds }: System, world: World, number: number) {
  const index = world.sessions.findIndex(({ executions }) => executions.some((each) => each.number === number))
  return { id: sessionIds[index] ?? '', owner: findOwner(world, index) }
}
