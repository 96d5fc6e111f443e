/**
 * An execution's row → what its caller reads.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { ExecutionView } from '@holdfast/protocol'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import { moment, momentOrNull } from './moment.ts'

export function executionView(row: ExecutionRow): ExecutionView {
  return {
    id: row.id,
    session_id: row.sessionId,
    sandbox_id: row.sandboxId,
    incarnation: row.incarnation,
    kind: row.kind,
    name: row.name,
    actor: row.actor,
    timeout_ms: row.timeoutMs,
    status: row.status,
    exit_code: row.exitCode,
    signal: row.signal,
    output_seq: row.outputSeq,
    cancel_requested_at: momentOrNull(row.cancelAt),
    started_at: moment(row.startedAt),
    ended_at: momentOrNull(row.endedAt),
    duration_ms: row.durationMs,
    cause: row.cause ?? null,
  }
}
