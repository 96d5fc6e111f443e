/**
 * Stays awake for the moment in which a process usually answers, and a client what was answered.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A processor that went to sleep takes longer to wake up than a process of one line takes to answer. So the loop goes round without
 * sleeping, never longer than `MOST_MS` after something was said, and everybody else is served in it as always. Where answers take
 * longer than that it is tried ever more seldom, so a slow process costs nothing.
 */

/** A few times what an answer at once takes. */
const MOST_MS = 0.4
/** After so many answers that took longer, in a row, it is tried once. */
const SELDOM = 64

export interface PromptHearing {
  /** Something was said to the process. */
  said(): void
  /** It printed a line. */
  heard(): void
}

export interface PromptHearingNeeds {
  /** In milliseconds, and their fractions. */
  readonly now: () => number
  /** Calls it in the next round of the loop, without a pause before it. */
  readonly soon: (again: () => void) => void
}

const REAL: PromptHearingNeeds = { now: () => performance.now(), soon: setImmediate }

export function promptHearing({ now, soon }: PromptHearingNeeds = REAL): PromptHearing {
  let awakeUntil = 0
  let isAwake = false
  let isAnswered = true
  /** How many to leave out before the next try; doubled by each that was in vain. */
  let pause = 0
  let leftOut = 0

  function stayAwake(): void {
    isAwake = now() < awakeUntil
    if (isAwake) return soon(stayAwake)
    if (isAnswered) return
    pause = Math.min(SELDOM, Math.max(1, pause * 2))
    leftOut = 0
  }

  return {
    said() {
      isAnswered = false
      if (leftOut < pause) {
        leftOut += 1
        return
      }
      awakeUntil = now() + MOST_MS
      if (isAwake) return
      isAwake = true
      soon(stayAwake)
    },
    heard() {
      if (isAwake) pause = 0
      isAnswered = true
    },
  }
}
