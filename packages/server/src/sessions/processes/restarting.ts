/**
 * Whether and when a process that has ended is started again: from its rules and its newest execution alone.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Pure, so that what is told of it, what is waited for and what a start of the server finds are always the same.
 */
import { MAXIMUM_BACKOFF_MS } from '@holdfast/protocol'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import type { RestartRow } from '../../store/tables/process-restarts.ts'

/** Whoever ran for so long begins with the shortest pause again. */
export const STEADY_MS = 60_000

type Rules = Pick<RestartRow, 'policy' | 'maxRestarts' | 'backoffMs' | 'restarts' | 'inARow' | 'command'>
type Newest = Pick<ExecutionRow, 'status' | 'exitCode' | 'cancelAt' | 'startedAt' | 'endedAt'>

/** `null`: it runs, or it is not started again. */
export function nextStartAt(rules: Rules | null, newest: Newest): number | null {
  if (rules === null || newest.endedAt === null || isOver(rules, newest)) return null
  const pause = rules.backoffMs * 2 ** Math.min(restartsInARow(rules, newest), 20)
  return newest.endedAt + Math.min(pause, MAXIMUM_BACKOFF_MS)
}

/** Nothing will start it again, whatever comes. */
export function isOver(rules: Rules, newest: Newest): boolean {
  if (rules.command === null) return true
  if (newest.status === 'running') return false
  // Somebody asked for its end, and has it.
  if (newest.cancelAt !== null || newest.status === 'cancelled' || newest.status === 'workspace_full') return true
  // Whoever started it was told that it did not start.
  if (newest.status === 'not_started' && rules.restarts === 0) return true
  if (rules.maxRestarts !== null && rules.restarts >= rules.maxRestarts) return true
  return rules.policy === 'no' || (rules.policy === 'on-failure' && newest.status === 'completed' && newest.exitCode === 0)
}

/** How many restarts came right before this end. */
export function restartsInARow({ inARow }: Pick<Rules, 'inARow'>, { startedAt, endedAt }: Newest): number {
  return endedAt !== null && endedAt - startedAt >= STEADY_MS ? 0 : inARow
}
