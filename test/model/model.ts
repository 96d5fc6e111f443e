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
import { at, close, endOf, finishClosings, letGo, loseBox, removeEmptyBoxes, sweep, writeNoted } from './model-life.ts'
import { resumePossibilities, startPossibilities } from './model-work.ts'
import { closedAnswers, refuse } from './possibility.ts'
import type { Answer, Possibility } from './possibility.ts'
import { DRAIN_MS } from './rules.ts'
import { isDraining, isLive, isServed, runningIn } from './world.ts'
import type { ModelSession, World } from './world.ts'

export function interpret(before: World, action: Action): readonly Possibility[] {
  const world = structuredClone(before)
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
      world.trouble.destroy = action.with === 'destroy'
      if (!world.trouble.destroy) finishClosings(world)
      sweep(world)
      return [{ world, answer: 'ok' }]
    case 'quickly':
      return quickly(world, action.first, action.second)
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
  return interpret(world, first)
    .flatMap((each) => [second, ...overtaken(second)].flatMap((later) => interpret(each.world, later)))
    .map(({ world: after }) => ({ world: after, answer: 'ok' }))
}

/** A version that was read before the other one came is the wrong one. */
function overtaken(action: Action): readonly Action[] {
  return (action.type === 'transfer' || action.type === 'relabel') && action.expect === 'right' ? [{ ...action, expect: 'wrong' }] : []
}

type Steering = Exclude<SessionAction, { readonly type: 'run' | 'start' | 'resume' }>

function onSession(world: World, index: number, action: SessionAction): readonly Possibility[] {
  if (action.type === 'run' || action.type === 'start') return startPossibilities(world, index, action)
  if (action.type === 'resume') return resumePossibilities(world, index)
  const session = at(world, index)
  if (session.isPurged && !['lose-sandbox', 'lose-workspace', 'note'].includes(action.type)) return [{ world, answer: 'not_found' }]
  return refuse(world, refusals(world, session, action), () => {
    act(world, index, action)
    return 'ok'
  })
}

function refusals(world: World, session: ModelSession, action: Steering): readonly Answer[] {
  const isBusy = runningIn(session).length > 0
  const reasons: Answer[] = []
  const when = (isSo: boolean, ...answers: readonly Answer[]) => {
    if (isSo) reasons.push(...answers)
  }
  switch (action.type) {
    case 'cancel-work':
    case 'refresh':
      when(!isLive(session), ...closedAnswers(session))
      break
    case 'suspend':
      if (session.state === 'suspended') break
      when(!isLive(session), ...closedAnswers(session))
      when(isLive(session) && isBusy, 'session_busy')
      when(isLive(session) && session.isHeld, 'session_held')
      break
    case 'release':
      when(isLive(session) && isBusy && action.ifBusy === 'fail', 'session_busy')
      break
    case 'transfer':
      when(!isLive(session), ...closedAnswers(session))
      when(action.expect === 'wrong', 'version_conflict')
      when(session.isPacked && action.to !== session.owner, 'invalid_state')
      when(isTaken(world, session, action.to), 'name_taken')
      break
    case 'relabel':
      when(!isLive(session), ...closedAnswers(session))
      when(action.expect === 'wrong', 'version_conflict')
      break
    // Always possible: the first closer wins, and a repeated wish is no mistake.
    case 'cancel':
    case 'hold':
    case 'unhold':
    case 'look':
    case 'note':
    case 'stranger':
    case 'lose-sandbox':
    case 'lose-workspace':
      break
  }
  return reasons
}

function isTaken({ sessions }: World, session: ModelSession, owner: ModelSession['owner']): boolean {
  return sessions.some(
    (other) => other !== session && other.owner === owner && other.key === session.key && (isLive(other) || other.state === 'closing'),
  )
}

function act(world: World, index: number, action: Steering): void {
  const session = at(world, index)
  switch (action.type) {
    case 'cancel-work':
      for (const execution of runningIn(session))
        if (action.processes || execution.kind === 'command') endOf(world, session, execution.number, 'cancelled')
      break
    case 'note':
      world.noted = [...world.noted.filter(([noted]) => noted !== index), [index, world.now]]
      break
    case 'refresh':
      refresh(world, session, action.leaseMs, action.allowShorten)
      break
    case 'suspend':
      if (session.state !== 'suspended') letGo(world, session, 'caller')
      break
    case 'hold':
      session.isHeld = true
      break
    case 'unhold':
      // Its time starts anew: nobody could use it meanwhile.
      if (session.isHeld && session.state === 'idle') session.activityAt = world.now
      if (session.isHeld && session.state === 'suspended') session.suspendedAt = world.now
      session.isHeld = false
      break
    case 'cancel':
      // The first closer wins; only a release that still waits for work may be made a cancel.
      if (isLive(session) || (isDraining(session, world.now) && session.closeReason === 'release'))
        close(world, session, { reason: 'cancel', detail: 'caller', drainMs: 0 })
      break
    case 'release':
      if (isLive(session))
        close(world, session, {
          ...{ reason: 'release', detail: 'caller', workspace: action.workspace ?? undefined },
          drainMs: action.ifBusy === 'wait' ? (action.drainMs ?? DRAIN_MS) : 0,
        })
      break
    case 'transfer':
      session.owner = action.to
      break
    case 'relabel':
      session.label = action.label
      break
    case 'lose-sandbox':
      if (session.box !== null) loseBox(world, session.box)
      break
    case 'lose-workspace':
      if (session.state === 'suspended' && !session.isPacked) session.files = null
      break
    case 'look':
    case 'stranger':
      break
  }
}

/** Never shorter unless asked for, never past the lifetime. */
function refresh(world: World, session: ModelSession, leaseMs: number | null, allowShorten: boolean): void {
  if (isServed(session)) session.activityAt = world.now
  const length = leaseMs ?? session.leaseMs
  if (length === null) return
  session.leaseMs = length
  const wished = world.now + length
  const least = allowShorten ? wished : Math.max(wished, session.leaseAt ?? wished)
  session.leaseAt = Math.min(least, session.lifetimeAt ?? least)
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
    const after = meanwhile === null ? [{ world: stopped, answer: 'ok' }] : interpret(stopped, meanwhile)
    for (const { world: last } of after) removeEmptyBoxes(last)
    return after.map(({ world: last }) => ({ world: last, answer: 'ok' }))
  })
}
