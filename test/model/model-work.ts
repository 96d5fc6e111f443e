/**
 * The model's work: a session is made ready if need be, then a command runs in it.
 */
import type { Action } from './actions.ts'
import { packKeyOf, quotaRefusals } from './model-create.ts'
import { at, becomeReady, endOf, moveIn, placesFor, removeBox } from './model-life.ts'
import { closedAnswers } from './possibility.ts'
import type { Answer, Possibility } from './possibility.ts'
import { MAX_RUNNING } from './rules.ts'
import { isClosed, isLive, runningIn } from './world.ts'
import type { ModelSession, World } from './world.ts'

type Work = Extract<Action, { readonly type: 'run' | 'start' }>

export function startPossibilities(world: World, index: number, action: Work): readonly Possibility[] {
  const session = at(world, index)
  const reasons = refusals(session)
  if (isLive(session) && action.expect === 'wrong') reasons.push('incarnation_changed')
  if (reasons.length > 0) return reasons.map((answer) => ({ world, answer }))
  return ready(world, index).map((possible) => (possible.answer === 'ready' ? begun(possible.world, index, action) : possible))
}

export function resumePossibilities(world: World, index: number): readonly Possibility[] {
  const session = at(world, index)
  const isServedAlready = isLive(session) && session.state !== 'suspended'
  const reasons = isServedAlready ? [] : refusals(session)
  if (reasons.length > 0) return reasons.map((answer) => ({ world, answer }))
  // Resuming does not wait for the sandbox: whether that works is seen afterwards.
  return ready(world, index).map((possible) =>
    ['ready', 'backend_unavailable'].includes(possible.answer) ? { world: possible.world, answer: 'ok' } : possible,
  )
}

function refusals(session: ModelSession): Answer[] {
  if (session.isPurged) return ['not_found']
  if (!isLive(session)) return [...closedAnswers(session)]
  return session.isHeld ? ['session_held'] : []
}

function ready(world: World, index: number): readonly Possibility[] {
  const session = at(world, index)
  if (session.state !== 'suspended') return [{ world, answer: 'ready' }]
  const reasons = quotaRefusals(world, session.owner, 'compute')
  if (reasons.length > 0) return reasons.map((answer) => ({ world, answer }))
  const packKey = packKeyOf(session)
  const served = placesFor(world, packKey).map((place) => resumed(structuredClone(world), index, place, packKey))
  // What may still run in a shared sandbox that cannot be destroyed is as good a reason to refuse.
  const remains = world.boxes.filter((box) => box.packKey === packKey && world.sessions.every((other) => other.box !== box.number))
  if (packKey === null || !world.trouble.destroy || remains.length === 0) return served
  const refused = structuredClone(world)
  at(refused, index).isTouched = true
  return [...served, { world: refused, answer: 'backend_unavailable' }]
}

function resumed(world: World, index: number, place: ReturnType<typeof placesFor>[number], packKey: string | null): Possibility {
  const session = at(world, index)
  const earlier = world.boxes.filter((box) => box.session === index)
  // Even if that comes to nothing.
  session.isTouched = true
  // Two sandboxes never write one workspace: the earlier one must be gone first.
  if (earlier.length > 0 && world.trouble.destroy) return { world, answer: 'backend_unavailable' }
  for (const box of earlier) removeBox(world, box.number)
  if (world.trouble.create && place === 'new') return { world, answer: 'backend_unavailable' }
  session.workspace = session.files === null && !session.isPacked ? 'lost' : 'intact'
  moveIn(world, index, place, packKey)
  becomeReady(world, index)
  return { world, answer: 'ready' }
}

function begun(world: World, index: number, action: Work): Possibility {
  const session = at(world, index)
  const running = runningIn(session)
  if (running.length >= MAX_RUNNING) return { world, answer: 'quota_exceeded executions_per_session' }
  const name = action.type === 'start' ? action.name : null
  if (name !== null && running.some((each) => each.name === name)) return { world, answer: 'name_taken' }
  const { notice, incarnation, workspace } = session
  world.executionsMade += 1
  const number = world.executionsMade
  session.executions.push({
    ...{ number, name, kind: name === null ? 'command' : 'process', startedAt: world.now, endedAt: null },
    ...{ status: 'running', exitCode: null, carries: notice },
  })
  session.isTouched = true
  session.state = 'active'
  session.activityAt = world.now
  const told = `incarnation ${incarnation}, ${workspace}, notice ${notice}`
  if (action.type === 'start') return { world, answer: `started ${number}, ${told}` }
  return { world, answer: ran(world, session, number, action, told) }
}

function ran(
  world: World,
  session: ModelSession,
  number: number,
  { how }: Extract<Action, { readonly type: 'run' }>,
  told: string,
): Answer {
  const execution = session.executions.find((each) => each.number === number)
  if (execution === undefined) throw new Error('the model lost an execution')
  if (how === 'missing') {
    // It never ran, so nobody was told anything.
    execution.carries = null
    endOf(world, session, number, 'completed')
    execution.status = 'not_started'
    return 'command_not_started'
  }
  endOf(world, session, number, 'completed')
  if (how === 'timeout') execution.status = 'timed_out'
  else execution.exitCode = how === 'failure' ? 3 : 0
  if (how !== 'timeout' && !session.isPacked && !isClosed(session)) session.files?.push(`${number}`)
  return `ran ${number}, ${execution.status} ${execution.exitCode}, ${told}`
}
