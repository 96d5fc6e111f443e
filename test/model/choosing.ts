/**
 * Which session or execution an action means, among those that exist when it comes up: mostly one that is still open.
 *
 * `settled` writes the choice down in the action itself, so that the model and the system cannot choose differently: a number
 * below zero names one for good.
 */
import { isOnSession } from './actions.ts'
import type { Action } from './actions.ts'
import { duesOf } from './model-deadlines.ts'
import { OWNERS } from './rules.ts'
import type { Owner } from './rules.ts'
import { isClosed } from './world.ts'
import type { World } from './world.ts'

export function chosenSession({ sessions }: World, which: number): number | null {
  if (which < 0) return -1 - which
  const all = sessions.map((_, index) => index)
  const open = all.filter((index) => {
    const session = sessions[index]
    return session !== undefined && !isClosed(session)
  })
  // Mostly the newest, so that several things happen to one session; one in eight may be over.
  if (open.length > 0 && which % 2 === 0) return open.at(-1) ?? null
  const candidates = open.length === 0 || which % 8 === 7 ? all : open
  return candidates[which % Math.max(1, candidates.length)] ?? null
}

export interface ChosenExecution {
  readonly session: number
  readonly number: number
  readonly isRunning: boolean
}

/** Only a running one can end by itself. */
export function chosenExecution(
  { sessions }: World,
  { type, execution }: Extract<Action, { readonly type: 'finish' | 'cancel-execution' }>,
): ChosenExecution | null {
  const all = sessions.flatMap(({ executions }, session) =>
    executions.map(({ number, status }) => ({ session, number, isRunning: status === 'running' })),
  )
  if (execution < 0) return all.find(({ number }) => number === -execution) ?? null
  const running = all.filter(({ isRunning }) => isRunning)
  const candidates = type === 'finish' || (running.length > 0 && execution % 4 !== 3) ? running : all
  return candidates[execution % Math.max(1, candidates.length)] ?? null
}

/** The same action with every choice made; `null` when there is nothing to choose. */
export function settled(world: World, action: Action): Action | null {
  if (action.type === 'wait-for') {
    const index = chosenSession(world, action.which)
    const session = index === null ? undefined : world.sessions[index]
    const due = session === undefined ? undefined : duesOf(session)[0]
    const ms = due === undefined ? 0 : Math.max(0, due.at + action.offsetMs - world.now)
    return { type: 'wait', ms, meanwhile: settledOrNull(world, action.meanwhile) }
  }
  if (isOnSession(action)) {
    const index = chosenSession(world, action.which)
    if (index === null) return null
    const named = { ...action, which: -1 - index }
    return named.type === 'transfer' ? { ...named, to: withinTenant(world, index, named.to) } : named
  }
  switch (action.type) {
    case 'finish':
    case 'cancel-execution': {
      const chosen = chosenExecution(world, action)
      return chosen === null ? null : { ...action, execution: -chosen.number }
    }
    case 'wait':
      return { ...action, meanwhile: settledOrNull(world, action.meanwhile) }
    case 'restart': {
      const [first, meanwhile] = [settledOrNull(world, action.first), settledOrNull(world, action.meanwhile)]
      return { ...action, first, meanwhile: meanwhile?.type === 'finish' && isKilling(first) ? null : meanwhile }
    }
    case 'quickly':
      return settledQuickly(world, action.first, action.second)
    case 'disorder': {
      const inner = settled(world, action.action)
      return inner === null ? null : { ...action, action: inner }
    }
    case 'overtake': {
      const [first, second] = [settled(world, action.first), settled(world, action.second)]
      return first === null || second === null || isKilling(first) ? first : { ...action, first, second }
    }
    case 'both': {
      const [one, other] = [settled(world, action.one), settled(world, action.other)]
      // With a backend in trouble it is chance whether the second finds the first, which fails.
      if (one?.type === 'create' && other?.type === 'create' && world.trouble.create) return one
      return one === null || other === null ? null : { ...action, one, other }
    }
    case 'create':
    case 'trouble':
      return action
  }
}

/** A program that is being killed may or may not end by itself before: then both would be true. */
function isKilling(action: Action | null): boolean {
  if (action?.type === 'release') return action.ifBusy !== 'wait' || action.drainMs === 0
  return action?.type === 'cancel'
}

/** Both mean the session of the first. A backend in trouble is quicker than either. */
function settledQuickly(world: World, first: Action, second: Action): Action | null {
  const begun = settled(world, first)
  if (begun === null || world.trouble.create || world.trouble.destroy) return begun
  const index = begun.type === 'create' ? keyed(world, begun.owner, begun.key) : isOnSession(begun) ? -1 - begun.which : null
  return index === null || !isOnSession(second) ? begun : { type: 'quickly', first: begun, second: { ...second, which: -1 - index } }
}

/** The open session with this key, or the place of the next one. */
function keyed({ sessions }: World, owner: Owner, key: string): number {
  const known = sessions.findIndex((session) => session.owner === owner && session.key === key && !isClosed(session))
  return known < 0 ? sessions.length : known
}

function settledOrNull(world: World, action: Action | null): Action | null {
  return action === null ? null : settled(world, action)
}

/** A session is never given away to another tenant. */
function withinTenant({ sessions }: World, index: number, to: Owner): Owner {
  const owner = sessions[index]?.owner ?? to
  return OWNERS[owner] === OWNERS[to] ? to : owner
}
