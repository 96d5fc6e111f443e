/**
 * When an event is tried again, and when it is given up.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 3_600_000
const MOST_ATTEMPTS = 30
const OLDEST_MS = 24 * 3_600_000
const LONGEST_PROBLEM = 300

export interface Failure {
  readonly event: { readonly id: string; readonly at: number }
  /** Before this one. */
  readonly attempts: number
  readonly problem: string
  readonly now: number
  readonly random: () => number
}

export interface Retry {
  readonly isGivenUp: boolean
  readonly attempts: number
  readonly nextAt: number
  /** Stays until the next problem, so that what was given up can be seen later. */
  readonly lastProblem: string
}

/** The wait doubles up to an hour, half of it by chance, so that many do not come back at once. An event has 30 attempts and 24 hours. */
export function afterFailure({ event, attempts: before, problem, now, random }: Failure): Retry {
  const attempts = before + 1
  const isGivenUp = attempts >= MOST_ATTEMPTS || now - event.at >= OLDEST_MS
  const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** before)
  const verdict = isGivenUp ? `gave up on ${event.id} after ${attempts} attempts` : `attempt ${attempts} of ${event.id} failed`
  const lastProblem = `${new Date(now).toISOString()} ${verdict}: ${problem}`.slice(0, LONGEST_PROBLEM)
  return { isGivenUp, attempts, nextAt: now + Math.round(waitMs * (0.5 + random() / 2)), lastProblem }
}
