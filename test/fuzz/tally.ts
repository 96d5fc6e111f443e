/**
 * How often each operation was asked, and how it answered: so that one can see what was reached.
 */
import type { Answer } from './answer.ts'
import type { Attempt } from './attempt.ts'

type Named = readonly { readonly name: string }[]

export interface Tally {
  add(attempt: Attempt, answer: Answer | null): void
  /** Operations that never did what they are for, each with what it answered instead. */
  neverDone(operations: Named): readonly string[]
  /** How many of each status there were, and what was never done. */
  lines(operations: Named): readonly string[]
}

export function createTally(): Tally {
  const all = new Map<string, number>()
  const byOperation = new Map<string, Map<string, number>>()
  let requests = 0
  const neverDone: Tally['neverDone'] = (operations) =>
    operations.flatMap(({ name }) => {
      const answers = byOperation.get(name) ?? new Map<string, number>()
      return [...answers.keys()].some((status) => status.startsWith('2')) ? [] : [`${name} (${shown(answers)})`]
    })
  return {
    add({ operation, isAstray, wire }, answer) {
      requests += 1
      const status = answer === null ? 'closed' : String(answer.status)
      count(all, status)
      if (isAstray || wire !== null) return
      const own = byOperation.get(operation.name) ?? new Map<string, number>()
      count(own, status)
      byOperation.set(operation.name, own)
    },
    neverDone,
    lines(operations) {
      const missing = neverDone(operations)
      return [
        `${requests} requests to ${operations.length} operations; answers: ${shown(all)}`,
        ...(missing.length === 0 ? ['every operation succeeded at least once'] : missing.map((each) => `never succeeded: ${each}`)),
      ]
    },
  }
}

function count(counts: Map<string, number>, status: string): void {
  counts.set(status, (counts.get(status) ?? 0) + 1)
}

function shown(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return sorted.map(([status, times]) => `${status} × ${times}`).join(', ')
}
