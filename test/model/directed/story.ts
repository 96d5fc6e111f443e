/**
 * A directed story: a short sequence, shaped by hand, that every run plays before those at random.
 *
 * It leads to a place that chance finds seldom, and says nothing about what must happen there: that is the model's, as for every
 * action. Sessions are named by their number, the first is 0; executions by theirs, the first is 1.
 */
import type { Action, Expect, RunHow } from '../actions.ts'
import { SECOND } from '../rules.ts'
import type { World } from '../world.ts'

export interface Story {
  readonly actions: readonly Action[]
  readonly onStop: World['onStop']
}

/** By what they are about. */
export type Stories = Readonly<Record<string, Story>>

export function told(...actions: readonly (Action | readonly Action[])[]): Story {
  return { actions: actions.flat(), onStop: 'keep' }
}

/** On a server that suspends what is idle when it stops. */
export function toldSuspending(...actions: readonly (Action | readonly Action[])[]): Story {
  return { actions: actions.flat(), onStop: 'suspend' }
}

type Create = Extract<Action, { readonly type: 'create' }>
type Release = Extract<Action, { readonly type: 'release' }>

export function create(key: Create['key'], differs: Partial<Create> = {}): Create {
  return { type: 'create', owner: 'alice', key, wish: 'plain', terms: 'usual', isPacked: false, onClose: 'unsaid', ...differs }
}

/** In a sandbox that it may share. */
export const packed = (key: Create['key'], differs: Partial<Create> = {}): Create => create(key, { isPacked: true, ...differs })

export const start = (session = 0, name: string | null = null, expect: Expect = 'nothing'): Action => ({
  ...{ type: 'start', which: named(session), name, expect },
})
export const run = (session = 0, how: RunHow = 'success', expect: Expect = 'nothing'): Action => ({
  ...{ type: 'run', which: named(session), how, expect },
})
export const finish = (execution = 1): Action => ({ type: 'finish', execution: -execution })
export const cancelExecution = (execution = 1): Action => ({ type: 'cancel-execution', execution: -execution })
export const cancelWork = (session = 0, processes = false): Action => ({ type: 'cancel-work', which: named(session), processes })

type Simple = 'look' | 'note' | 'resume' | 'suspend' | 'hold' | 'unhold' | 'cancel' | 'lose-sandbox' | 'lose-workspace'
const simply =
  (type: Simple) =>
  (session = 0): Action => ({ type, which: named(session) })
export const look = simply('look')
export const note = simply('note')
export const resume = simply('resume')
export const suspend = simply('suspend')
export const hold = simply('hold')
export const unhold = simply('unhold')
export const cancel = simply('cancel')
export const lose = simply('lose-sandbox')
export const loseFiles = simply('lose-workspace')

export const refresh = (seconds: number | null, allowShorten = false, session = 0): Action => ({
  ...{ type: 'refresh', which: named(session), leaseMs: seconds === null ? null : seconds * SECOND, allowShorten },
})
export const release = (differs: Partial<Release> = {}, session = 0): Release => ({
  ...{ type: 'release', which: named(session), ifBusy: 'wait', drainMs: null, workspace: null },
  ...differs,
})
export const transfer = (to: 'alice' | 'bob', expect: 'right' | 'wrong' = 'right', session = 0): Action => ({
  ...{ type: 'transfer', which: named(session), to, expect },
})
export const relabel = (label: string, expect: Expect = 'nothing', session = 0): Action => ({
  ...{ type: 'relabel', which: named(session), label, expect },
})
export const stranger = (verb: number, session = 0): Action => ({ type: 'stranger', which: named(session), verb })

export const wait = (seconds: number, meanwhile: Action | null = null): Action => ({ type: 'wait', ms: seconds * SECOND, meanwhile })
/** Up to a moment around its next deadline. */
export const untilDue = (session = 0, offsetMs = 0, meanwhile: Action | null = null): Action => ({
  ...{ type: 'wait-for', which: named(session), offsetMs, meanwhile },
})
export const restart = (how: 'stop' | 'kill', first: Action | null = null, meanwhile: Action | null = null): Action => ({
  ...{ type: 'restart', how, first, meanwhile },
})
export const trouble = (kind: 'create' | 'destroy' | 'break' | 'nothing'): Action => ({ type: 'trouble', with: kind })
export const quickly = (first: Action, second: Action): Action => ({ type: 'quickly', first, second })
export const overtake = (first: Action, second: Action): Action => ({ type: 'overtake', first, second })
export const disorder = (action: Action): Action => ({ type: 'disorder', action })
export const both = (one: Action, other: Action): Action => ({ type: 'both', one, other })

function named(session: number): number {
  return -1 - session
}
