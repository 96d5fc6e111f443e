/**
 * Whether a reader may go on after so many bytes: not behind what was printed.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import type { RunningExecution } from './executions.ts'
import type { StoredOutput } from './stored-output.ts'

/** The log of one that was found again is behind for a moment: the guest knows. */
export async function printedBy({ id, live, log }: RunningExecution): Promise<number> {
  const listed = await (await live.connected()).processes.list()
  return Math.max(log.seq, ...listed.filter(({ tag }) => tag === id).map(({ seq }) => seq))
}

/** Throws `invalid_request`. */
export function checkAfter(after: number, printed: number): void {
  if (after <= printed) return
  throw new HoldfastError('invalid_request', `after: is beyond the ${printed} bytes that it has printed`, { printed })
}

/** For one that has ended. A lost execution may have less output than its clients have read: what was not stored went with the sandbox. */
export function checkAfterEnd(after: number, { status }: Pick<ExecutionRow, 'status'>, { seq }: Pick<StoredOutput, 'seq'>): void {
  if (status !== 'lost') checkAfter(after, seq)
}
