/**
 * The model's steering: what callers and accidents do to one session as a whole.
 */
import type { SessionAction } from './actions.ts'
import { at, close, endOf, letGo, loseBox } from './model-life.ts'
import { closedAnswers, refuse } from './possibility.ts'
import type { Answer, Possibility } from './possibility.ts'
import { DRAIN_MS } from './rules.ts'
import { isDraining, isLive, isServed, runningIn } from './world.ts'
import type { ModelSession, World } from './world.ts'

type Steering = Exclude<SessionAction, { readonly type: 'run' | 'start' | 'resume' }>

export function steeringPossibilities(world: World, index: number, action: Steering): readonly Possibility[] {
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
      session.isTouched ||= !session.isHeld
      session.isHeld = true
      break
    case 'unhold':
      session.isTouched ||= session.isHeld
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
      session.isTouched ||= session.owner !== action.to
      session.owner = action.to
      break
    case 'relabel':
      session.isTouched = true
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
  session.isTouched = true
  if (isServed(session)) session.activityAt = world.now
  const length = leaseMs ?? session.leaseMs
  if (length === null) return
  session.leaseMs = length
  const wished = world.now + length
  const least = allowShorten ? wished : Math.max(wished, session.leaseAt ?? wished)
  session.leaseAt = Math.min(least, session.lifetimeAt ?? least)
}
