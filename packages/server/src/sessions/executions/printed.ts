/**
 * Whether a reader may go on after so many bytes: not behind what was printed.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { RunningExecution } from './executions.ts'

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
