/**
 * What an action may lead to. The system must do one of the possible things.
 */
import type { ModelSession, World } from './world.ts'

/** Shown to the caller: `ok`, an error code, or facts that matter, as text. */
export type Answer = string

export interface Possibility {
  readonly world: World
  readonly answer: Answer
}

/** Every reason may be the one that is given; with none the action is done. */
export function refuse(world: World, reasons: readonly Answer[], act: () => Answer): readonly Possibility[] {
  if (reasons.length > 0) return reasons.map((answer) => ({ world, answer }))
  const answer = act()
  return [{ world, answer }]
}

/** What is over takes no more work; one that failed may also answer with what made it fail. */
export function closedAnswers({ closeReason }: ModelSession): readonly Answer[] {
  return closeReason === 'fail' ? ['session_closed', 'backend_unavailable'] : ['session_closed']
}
