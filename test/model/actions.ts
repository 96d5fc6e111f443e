/**
 * What can happen to sessions, as data: the same for the model and for the system.
 *
 * `which` and `execution` choose among what exists when the action comes up, so that any order of actions makes sense.
 */
import type { Owner, TermName, WishName } from './rules.ts'

export type Expect = 'nothing' | 'right' | 'wrong'

/** To one session. */
export type SessionAction =
  | { readonly type: 'run'; readonly which: number; readonly how: RunHow; readonly expect: Expect }
  | { readonly type: 'start'; readonly which: number; readonly name: string | null; readonly expect: Expect }
  | { readonly type: 'cancel-work'; readonly which: number; readonly processes: boolean }
  | { readonly type: 'look'; readonly which: number }
  | { readonly type: 'note'; readonly which: number }
  | { readonly type: 'refresh'; readonly which: number; readonly leaseMs: number | null; readonly allowShorten: boolean }
  | { readonly type: 'resume'; readonly which: number }
  | { readonly type: 'suspend' | 'hold' | 'unhold' | 'cancel'; readonly which: number }
  | {
      readonly type: 'release'
      readonly which: number
      readonly ifBusy: 'wait' | 'fail' | 'kill'
      readonly drainMs: number | null
      readonly workspace: 'delete' | 'keep' | null
    }
  | { readonly type: 'transfer'; readonly which: number; readonly to: Owner; readonly expect: 'right' | 'wrong' }
  | { readonly type: 'relabel'; readonly which: number; readonly label: string; readonly expect: Expect }
  /** Somebody who may not see it, or not do this to it. */
  | { readonly type: 'stranger'; readonly which: number; readonly verb: number }
  | { readonly type: 'lose-sandbox' | 'lose-workspace'; readonly which: number }

export type Action =
  | SessionAction
  | {
      readonly type: 'create'
      readonly owner: Owner
      readonly key: string
      readonly wish: WishName
      readonly terms: TermName
      readonly isPacked: boolean
      readonly onClose: 'delete' | 'keep' | 'unsaid'
    }
  /** It ends by itself. */
  | { readonly type: 'finish'; readonly execution: number }
  | { readonly type: 'cancel-execution'; readonly execution: number }
  /** Time passes, somebody acts before the sweep comes round, then it does. */
  | { readonly type: 'wait'; readonly ms: number; readonly meanwhile: Action | null }
  /** To a moment around the session's next deadline. */
  | { readonly type: 'wait-for'; readonly which: number; readonly offsetMs: number; readonly meanwhile: Action | null }
  | { readonly type: 'restart'; readonly how: 'stop' | 'kill'; readonly first: Action | null; readonly meanwhile: Action | null }
  /** `break`: it fails to destroy as well, in a way that nobody expects. */
  | { readonly type: 'trouble'; readonly with: 'create' | 'destroy' | 'break' | 'nothing' }
  /** The second comes before the server has done what follows from the first. */
  | { readonly type: 'quickly'; readonly first: Action; readonly second: Action }
  /** What follows from the first looks at the store before the second is done, and hears of it afterwards. */
  | { readonly type: 'overtake'; readonly first: Action; readonly second: Action }
  /** Of the first two things that the server writes because of it, the second is written first. */
  | { readonly type: 'disorder'; readonly action: Action }
  /** At the same time; either may come first. */
  | { readonly type: 'both'; readonly one: Action; readonly other: Action }

/** `background`: it ends, and leaves something running. `missing`: there is no such program. */
export type RunHow = 'success' | 'failure' | 'missing' | 'timeout' | 'background'

export function isOnSession(action: Action): action is SessionAction {
  return 'which' in action && action.type !== 'wait-for'
}

export function describe(action: Action): string {
  return JSON.stringify(action)
}
