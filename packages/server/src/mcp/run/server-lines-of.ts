/**
 * The lines of a server that was just started. One that is over already is told of like one that ends a moment later.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Caller } from '../../sessions/caller.ts'
import type { ProcessLines } from '../../sessions/processes/process-lines.ts'
import type { ProcessRef } from '../../sessions/processes/process-outputs.ts'
import type { Processes } from '../../sessions/processes/processes.ts'
import { exited } from '../share/exited.ts'

/** Longer lines come in pieces, which are put together again. */
const MAXIMUM_LINE_BYTES = 1024 * 1024

/** What a server complained of, as far as it has by now. */
export type Complaints = Pick<ProcessLines, 'stderr'>

/** `onComplaints` is called once the process was reached, or found to be over: then it throws `mcp_server_exited` with how it ended. */
export async function serverLinesOf(
  processes: Pick<Processes, 'openLines' | 'get' | 'stderrTail'>,
  caller: Caller,
  ref: ProcessRef,
  onComplaints: (complaints: Complaints) => void,
): Promise<ProcessLines> {
  try {
    const lines = await processes.openLines(caller, ref, { maximumLineBytes: MAXIMUM_LINE_BYTES })
    onComplaints(lines)
    return lines
  } catch (error) {
    if (!isHoldfastError(error, 'execution_ended')) throw error
    const ended = await processes.get(caller, ref.sessionId, ref.name)
    onComplaints({ stderr: (await processes.stderrTail(caller, ended)) ?? '' })
    throw exited(ended)
  }
}
