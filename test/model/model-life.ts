/**
 * The model's life of a session: given a sandbox, suspended, lost, closed, moved on by time. Each changes the draft it is given.
 */
import type { CloseReason, SuspendReason } from '@holdfast/protocol'
import { duesOf } from './model-deadlines.ts'
import { DRAIN_MS, MAX_PACKED, TIMES } from './rules.ts'
import { isServed, runningIn } from './world.ts'
import type { ModelBox, ModelExecution, ModelSession, World } from './world.ts'

/** Which sandboxes a session could be placed in; the last stands for a new one. */
export function placesFor(world: World, packKey: string | null): readonly (ModelBox | 'new')[] {
  if (packKey === null) return ['new']
  const roomy = world.boxes.filter((box) => {
    const inside = countInside(world, box)
    return box.packKey === packKey && !box.isQuarantined && inside > 0 && inside < MAX_PACKED
  })
  return roomy.every(({ wasFull }) => wasFull) ? [...roomy, 'new'] : roomy
}

export function countInside({ sessions }: World, { number }: ModelBox): number {
  return sessions.filter(({ box }) => box === number).length
}

export function moveIn(world: World, index: number, place: ModelBox | 'new', packKey: string | null): void {
  const session = at(world, index)
  if (place === 'new') {
    world.boxesMade += 1
    const box = { number: world.boxesMade, packKey, session: packKey === null ? index : null, isQuarantined: false, wasFull: false }
    world.boxes.push(box)
    session.box = box.number
  } else session.box = place.number
  if (session.files === null && !session.isPacked) session.files = []
}

/** Its sandbox answers: from here on the idle time counts. */
export function becomeReady(world: World, index: number): void {
  const session = at(world, index)
  session.isTouched = true
  session.state = 'idle'
  session.notice = session.suspendReason === null ? null : `${session.suspendReason}, ${session.workspace}`
  session.suspendReason = null
  session.activityAt = world.now
}

/** Whoever leaves a sandbox last takes it along, unless the backend does not let it. */
function leaveBox(world: World, session: ModelSession): void {
  const { box } = session
  session.box = null
  if (box !== null && !world.trouble.destroy && world.sessions.every((other) => other.box !== box)) removeBox(world, box)
}

export function removeBox(world: World, number: number): void {
  world.boxes = world.boxes.filter((box) => box.number !== number)
}

/** Destroys what nobody is in any more. */
export function removeEmptyBoxes(world: World): void {
  if (!world.trouble.destroy) world.boxes = world.boxes.filter((box) => world.sessions.some((session) => session.box === box.number))
}

export function letGo(world: World, session: ModelSession, reason: SuspendReason): void {
  session.isTouched = true
  session.state = 'suspended'
  session.suspendReason = reason
  session.suspendedAt = world.now
  session.incarnation += 1
  leaveBox(world, session)
}

export function endAll(world: World, executions: readonly ModelExecution[], status: 'lost' | 'cancelled'): void {
  for (const execution of executions) {
    execution.status = status
    execution.endedAt = world.now
  }
}

export interface Close {
  readonly reason: CloseReason
  readonly detail: string
  readonly drainMs: number
  readonly workspace?: 'delete' | 'keep' | undefined
}

export function close(world: World, session: ModelSession, { reason, detail, drainMs, workspace }: Close): void {
  session.isTouched = true
  session.state = 'closing'
  session.closeReason = reason
  session.closeDetail = detail
  session.closingAt = world.now
  session.onClose = workspace ?? session.onClose
  // Nothing outlives the lifetime, not even by draining.
  const until = Math.min(world.now + drainMs, session.lifetimeAt ?? Number.POSITIVE_INFINITY)
  session.drainUntil = runningIn(session).length > 0 && until > world.now ? until : null
  if (session.drainUntil === null) cleanUp(world, session)
}

/** Kills what runs, lets go of the sandbox and the files. While the sandbox cannot be destroyed it stays `closing`, and nobody moves in. */
export function cleanUp(world: World, session: ModelSession): void {
  const running = runningIn(session)
  if (running.length > 0) session.isTouched = true
  endAll(world, running, 'cancelled')
  const hasNeighbours =
    session.box !== null &&
    session.isPacked &&
    (world.crowded.includes(session.box) || world.sessions.some((other) => other !== session && other.box === session.box))
  if (session.box !== null && !hasNeighbours && world.trouble.destroy) {
    closeToOthers(world, session.box)
    return
  }
  const sandbox = session.box === null ? 'none' : hasNeighbours ? 'kept' : 'destroyed'
  leaveBox(world, session)
  if (session.onClose === 'delete') session.files = null
  finish(world, session, { verified: true, sandbox, workspace: session.onClose === 'delete' ? 'deleted' : 'kept' })
}

const CLOSED_AS = { release: 'released', cancel: 'cancelled', expire: 'expired', fail: 'failed' } as const

function finish(world: World, session: ModelSession, cleanup: ModelSession['cleanup']): void {
  session.isTouched = true
  session.state = CLOSED_AS[session.closeReason ?? 'fail']
  session.closedAt = world.now
  session.cleanup = cleanup
  session.notice = null
}

/** The end of work is activity, and ends a drain that waited for it. */
export function endOf(world: World, session: ModelSession, number: number, status: 'completed' | 'cancelled'): void {
  const execution = session.executions.find((each) => each.number === number)
  if (execution?.status !== 'running') return
  execution.status = status
  execution.endedAt = world.now
  session.isTouched = true
  if (execution.carries !== null && execution.carries === session.notice) session.notice = null
  session.activityAt = world.now
  if (session.state === 'closing' && runningIn(session).length === 0) cleanUp(world, session)
}

/** A sandbox dies: everybody in it is told, and what ran there has no known end. */
export function loseBox(world: World, number: number): void {
  const inside = world.sessions.filter(({ box }) => box === number)
  for (const session of inside) {
    const running = runningIn(session)
    endAll(world, running, 'lost')
    if (running.length > 0) session.isTouched = true
    if (isServed(session)) letGo(world, session, 'sandbox_lost')
    else if (session.state === 'closing' && running.length > 0) cleanUp(world, session)
  }
}

/** Closings that waited only for the backend. */
export function finishClosings(world: World): void {
  for (const session of world.sessions)
    if (session.state === 'closing' && (runningIn(session).length === 0 || session.drainUntil === null)) cleanUp(world, session)
}

export function writeNoted(world: World): void {
  for (const [index, time] of world.noted) {
    const session = at(world, index)
    if (!isServed(session) || time <= session.activityAt) continue
    session.isTouched = true
    session.activityAt = time
  }
  world.noted = []
}

/** Everything that is due happens, each from what the one before left. */
export function sweep(world: World): void {
  writeNoted(world)
  for (const session of world.sessions) while (moveOn(world, session));
  removeEmptyBoxes(world)
  for (const session of world.sessions) if (!session.isHeld) dropOldExecutions(world, session)
}

/** Records of executions go by age, except the last run of each named process. */
function dropOldExecutions(world: World, session: ModelSession): void {
  const { executions } = session
  const hasSuccessor = ({ name, startedAt }: ModelExecution) =>
    executions.some((later) => later.name === name && later.startedAt > startedAt)
  session.executions = executions.filter(
    (execution) =>
      execution.endedAt === null ||
      execution.endedAt + TIMES.recordMs > world.now ||
      (execution.kind === 'process' && !hasSuccessor(execution)),
  )
}

function moveOn(world: World, session: ModelSession): boolean {
  const due = session.isPurged ? undefined : duesOf(session)[0]
  if (due === undefined || due.at > world.now) return false
  const expire = (drainMs: number) => close(world, session, { reason: 'expire', detail: due.kind, drainMs })
  switch (due.kind) {
    case 'debounce':
      session.isTouched = true
      session.state = 'idle'
      break
    case 'idle':
      if (session.onIdle === 'release') expire(0)
      else letGo(world, session, 'idle')
      break
    case 'lease':
      expire(DRAIN_MS)
      break
    case 'lifetime':
    case 'retention':
      expire(0)
      break
    case 'drain':
      session.isTouched = true
      session.drainUntil = null
      cleanUp(world, session)
      break
    case 'cleanup':
      // Its sandbox could not be destroyed in all this time: closed, and honest about it.
      quarantine(world, session)
      break
    case 'record':
      session.files = null
      session.isPurged = true
      break
  }
  return true
}

function quarantine(world: World, session: ModelSession): void {
  closeToOthers(world, session.box)
  session.box = null
  finish(world, session, { verified: false, sandbox: 'quarantined', workspace: 'kept' })
}

function closeToOthers(world: World, number: number | null): void {
  const box = world.boxes.find((each) => each.number === number)
  if (box !== undefined) box.isQuarantined = true
}

export function at(world: World, index: number): ModelSession {
  const session = world.sessions[index]
  if (session === undefined) throw new Error(`the model has no session ${index}`)
  return session
}
