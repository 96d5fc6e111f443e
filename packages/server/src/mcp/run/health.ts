/**
 * Whether a server that runs still answers: it is asked from time to time, and given up when it stays silent.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * That it ended needs no asking. While a call is under way silence says nothing: many servers do one thing at a time.
 */
import type { McpHealth } from '@holdfast/protocol/mcp'
import type { SharedServer } from '../share/shared-server.ts'

export interface HealthRules {
  /** Between an answer and the next question. */
  readonly everyMs: number
  /** For an answer. */
  readonly waitMs: number
  /** After so many questions without an answer it is given up. */
  readonly questions: number
}

export const HEALTH_RULES: HealthRules = { everyMs: 30_000, waitMs: 10_000, questions: 3 }

export interface HealthNeeds {
  readonly shared: Pick<SharedServer, 'check' | 'counts' | 'ended' | 'isOver'>
  readonly clock: () => number
  readonly rules: HealthRules
  /** Called once. */
  onSilent(): void
}

export interface Health {
  readonly state: McpHealth
  /** When it was found to be so. */
  readonly checkedAt: number
}

/** Begins with a server that has just answered, and ends with it. */
export function watchHealth({ shared, clock, rules, onSilent }: HealthNeeds): Health {
  const health = { state: 'answering' as McpHealth, checkedAt: clock() }
  let silences = 0
  let timer = setTimeout(ask, rules.everyMs)
  timer.unref()
  void shared.ended.then(() => clearTimeout(timer))

  function ask(): void {
    shared
      .check(rules.waitMs)
      .then(
        () => found('answering'),
        () => found(shared.counts.calls > 0 ? 'busy' : 'silent'),
      )
      .catch(() => undefined)
  }

  function found(state: McpHealth): void {
    if (shared.isOver) return
    Object.assign(health, { state, checkedAt: clock() })
    silences = state === 'silent' ? silences + 1 : 0
    if (silences >= rules.questions) return onSilent()
    timer = setTimeout(ask, state === 'silent' ? 0 : rules.everyMs)
    timer.unref()
  }

  return health
}
