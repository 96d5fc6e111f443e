/**
 * How a command ended, on the wire: the same facts close the JSON answer and the stream of events.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { ExecExitEvent } from '@holdfast/protocol'
import type { CommandEnd } from '../../sessions/executions/executions.ts'
import type { Started } from '../../sessions/running.ts'

export function exitEvent(started: Started, end: CommandEnd): ExecExitEvent {
  return {
    exit_code: end.exitCode,
    signal: end.signal,
    status: end.status,
    duration_ms: end.durationMs,
    timeout_ms: started.timeoutMs,
    cause: end.cause ?? null,
    session: started.session,
    execution_id: started.executionId,
  }
}
