/**
 * The model: what an action may lead to, and what the caller may be answered.
 *
 * More than one answer is right where the design leaves a choice: which of several reasons to refuse is named, or which of two
 * callers comes first. The system must do one of them.
 */
import { isOnSession } from './actions.ts'
import type { Action, SessionAction } from './actions.ts'
import { chosenExecution, chosenSession } from './choosing.ts'
import { createPossibilities } from './model-create.ts'
import { at, countInside, endOf, finishClosings, letGo, removeEmptyBoxes, sweep, writeNoted } from './model-life.ts'
import { steeringPossibilities } from './model-steering.ts'
import { resumePossibilities, startPossibilities } from './model-work.ts'
import type { Answer, Possibility } from './possibility.ts'
import { MAX_PACKED } from './rules.ts'
import { isClosed, isServed, runningIn } from './world.ts'
import type { World } from './world.ts'

/**
 * Who leaves a shared sandbox and finds a neighbour in it takes only what is its own, and the sandbox is the neighbour's to destroy. Of
 * those who leave at the same moment each may find the other: then nobody waits for a backend that does not destroy it.
 */
export function interpret(before: World, action: Action): readonly Possibility[] {
  const oneAfterTheOther = outcomes(structuredClone(before), action)
  const crowded = before.boxes.filter((box) => countInside(before, box) > 1).map(({ number }) => number)
  if (crowded.length === 0 || before.crowded.length > 0) return oneAfterTheOther
  const together = outcomes({ ...structuredClone(before), crowded }, action)
  return [...oneAfterTheOther, ...together.map(({ world, answer }) => ({ answer, world: { ...world, crowded: [] } }))]
}

function outcomes(world: World, action: Action): readonly Possibility[] {
  if (isOnSession(action)) {
    const index = chosenSession(world, action.which)
    return index === null ? nothing(world) : onSession(world, index, action)
  }
  switch (action.type) {
    case 'create':
      return createPossibilities(world, action)
    case 'finish':
    case 'cancel-execution':
      return endOne(world, action)
    case 'wait':
      return waited(world, action.ms, action.meanwhile)
    case 'wait-for':
      throw new Error('a wait for a deadline is a wait of so many milliseconds by now')
    case 'restart':
      return restarted(world, action)
    case 'trouble':
      world.trouble.create = action.with === 'create'
      world.trouble.destroy = action.with === 'destroy' || action.with === 'break'
      if (!world.trouble.destroy) finishClosings(world)
      sweep(world)
      return [{ world, answer: 'ok' }]
    case 'quickly':
      return quickly(world, action.first, action.second)
    case 'disorder':
      return interpret(world, action.action)
    case 'overtake':
      return inTurn(world, action.first, action.second)
    case 'both':
      return [...inTurn(world, action.one, action.other), ...inTurn(world, action.other, action.one)]
  }
}

function nothing(world: World): readonly Possibility[] {
  return [{ world, answer: 'nothing to act on' }]
}

/** What the second is answered is left open: it may be told to come again. A refused creation has nothing for it to act on. */
function quickly(world: World, first: Action, second: Action): readonly Possibility[] {
  return interpret(world, first).flatMap((begun) => {
    if (first.type === 'create' && begun.world.sessions.length === world.sessions.length && !begun.answer.startsWith('known'))
      return [{ world: begun.world, answer: 'ok' }]
    const ended = interpret(begun.world, second)
    return [...ended, ...(second.type === 'suspend' ? [begun] : [])].map((each) => ({ world: each.world, answer: 'ok' }))
  })
}

/** What both are answered is left open; what becomes of the sessions is not. */
function inTurn(world: World, first: Action, second: Action): readonly Possibility[] {
  const full = world.boxes.filter((box) => countInside(world, box) >= MAX_PACKED).map(({ number }) => number)
  return interpret(world, first)
    .map((each) => markFull(each.world, full))
    .flatMap((between) => [second, ...overtaken(second)].flatMap((later) => interpret(between, later)))
    .map(({ world: after }) => ({ world: markFull(after, []), answer: 'ok' }))
}

function markFull(world: World, numbers: readonly number[]): World {
  return { ...world, boxes: world.boxes.map((box) => ({ ...box, wasFull: numbers.includes(box.number) })) }
}

/** What was right when it was read may be wrong by the time it is said: a version, or an incarnation. */
function overtaken(action: Action): readonly Action[] {
  return 'expect' in action && action.expect === 'right' ? [{ ...action, expect: 'wrong' }] : []
}

function onSession(world: World, index: number, action: SessionAction): readonly Possibility[] {
  if (action.type === 'run' || action.type === 'start') return startPossibilities(world, index, action)
  return action.type === 'resume' ? resumePossibilities(world, index) : steeringPossibilities(world, index, action)
}

function endOne(world: World, action: Extract<Action, { readonly type: 'finish' | 'cancel-execution' }>): readonly Possibility[] {
  const chosen = chosenExecution(world, action)
  if (chosen === null) return nothing(world)
  const session = at(world, chosen.session)
  if (action.type === 'finish') endOf(world, session, chosen.number, 'completed')
  else if (session.isPurged) return [{ world, answer: 'not_found' }]
  else if (chosen.isRunning) endOf(world, session, chosen.number, 'cancelled')
  return [{ world, answer: 'ok' }]
}

function waited(world: World, ms: number, meanwhile: Action | null): readonly Possibility[] {
  world.now += ms
  const between = meanwhile === null ? [{ world, answer: 'ok' }] : interpret(world, meanwhile)
  for (const each of between) sweep(each.world)
  return between
}

/** What was only in memory is gone after a kill; everything else is as it was, or found to have happened meanwhile. */
function restarted(world: World, { how, first, meanwhile }: Extract<Action, { readonly type: 'restart' }>): readonly Possibility[] {
  const begun = first === null ? [{ world, answer: 'ok' }] : interpret(world, first)
  return begun.flatMap((each) => {
    const stopped = each.world
    if (how === 'stop') writeNoted(stopped)
    stopped.noted = []
    for (const session of stopped.sessions) {
      for (const execution of session.executions) execution.carries = null
      if (how === 'stop' && stopped.onStop === 'suspend' && isServed(session) && runningIn(session).length === 0)
        letGo(stopped, session, 'server_stopped')
    }
    const asItWas = { world: structuredClone(stopped), answer: 'ok' }
    const changed = meanwhile === null ? [] : interpret(stopped, meanwhile)
    const after = meanwhile === null || (how === 'kill' && isMaking(world, first, meanwhile)) ? [...changed, asItWas] : changed
    for (const { world: last } of after) removeEmptyBoxes(last)
    return after.map(({ world: last }) => ({ world: last, answer: first === null ? found(stopped, last) : 'ok' }))
  })
}

/** A sandbox that was only being made is made anew, whatever became of the first attempt. */
function isMaking({ sessions }: World, first: Action | null, meanwhile: Action): boolean {
  if (first?.type !== 'resume' || meanwhile.type !== 'lose-sandbox' || first.which !== meanwhile.which) return false
  return sessions[-1 - first.which]?.state === 'suspended'
}

/** What the next start finds: of those that were served, each is so still, or its sandbox was lost meanwhile. */
function found({ sessions }: World, later: World): Answer {
  const served = sessions.flatMap((session, index) => (isServed(session) ? [at(later, index)] : []))
  const open = sessions.filter((session) => !isClosed(session)).length
  const kept = served.filter(isServed).length
  return `found ${open}, ${kept} as they were, ${served.length - kept} lost`
}
