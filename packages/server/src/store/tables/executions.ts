/**
 * The table of executions: one row per command, written before it starts, ended once.
 *
 * Stands beside the flow. Command text and environment are not in it.
 */
import { EXECUTION_STATUSES, ExecutionCause } from '@holdfast/protocol'
import type { ExecutionStatus } from '@holdfast/protocol'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, SqlValue, Transaction } from '../store.ts'
import { attendedNumber } from './execution-input.ts'
import type { AttendedBy } from './execution-input.ts'
import type { SessionRef } from './sessions.ts'

/** `process`: named and long-lived, such as an MCP server. */
const KINDS = ['command', 'process'] as const
export type ExecutionKind = (typeof KINDS)[number]

export interface ExecutionRow {
  readonly id: string
  readonly sessionId: string
  readonly tenantId: string
  readonly sandboxId: string
  readonly incarnation: number
  readonly kind: ExecutionKind
  readonly name: string | null
  readonly actor: string
  readonly timeoutMs: number | null
  readonly status: ExecutionStatus
  readonly exitCode: number | null
  readonly signal: string | null
  /** Somebody asked for its end. */
  readonly cancelAt: number | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly durationMs: number | null
  /** Bytes of both streams. */
  readonly outputSeq: number
  /** Why it failed, where that is proved. */
  readonly cause?: ExecutionCause | null
}

export interface ExecutionEnd {
  readonly status: ExecutionStatus
  readonly exitCode: number | null
  readonly signal: string | null
  readonly endedAt: number
  readonly durationMs: number | null
  readonly cause?: ExecutionCause | null
  readonly outputSeq: number
  /** What it printed, when that is little; more lies in files. */
  readonly output: Uint8Array | null
}

export const EXECUTION_COLUMNS = `id, session_id, tenant_id, sandbox_id, incarnation, kind, name, actor, timeout_ms, status, exit_code, signal, cancel_at,
  started_at, ended_at, duration_ms, output_seq, cause`

export function parseExecution(row: Row): ExecutionRow {
  const read = new RowReader('executions', row)
  return {
    id: read.text('id'),
    sessionId: read.text('session_id'),
    tenantId: read.text('tenant_id'),
    sandboxId: read.text('sandbox_id'),
    incarnation: read.number('incarnation'),
    kind: read.word('kind', KINDS),
    name: read.textOrNull('name'),
    actor: read.text('actor'),
    timeoutMs: read.numberOrNull('timeout_ms'),
    status: read.word('status', EXECUTION_STATUSES),
    exitCode: read.numberOrNull('exit_code'),
    signal: read.textOrNull('signal'),
    cancelAt: read.numberOrNull('cancel_at'),
    startedAt: read.number('started_at'),
    endedAt: read.numberOrNull('ended_at'),
    durationMs: read.numberOrNull('duration_ms'),
    outputSeq: read.number('output_seq'),
    cause: read.jsonOrNull('cause', ExecutionCause),
  }
}

/** `false` when a running one of this session has the name. */
export async function insertExecution(transaction: Transaction, execution: ExecutionRow, by: AttendedBy = 'nobody'): Promise<boolean> {
  const values: readonly SqlValue[] = [
    execution.id,
    execution.sessionId,
    execution.tenantId,
    execution.sandboxId,
    execution.incarnation,
    execution.kind,
    execution.name,
    execution.actor,
    execution.timeoutMs,
    execution.status,
    execution.exitCode,
    execution.signal,
    execution.cancelAt,
    execution.startedAt,
    execution.endedAt,
    execution.durationMs,
    execution.outputSeq,
    null,
    attendedNumber(by),
  ]
  const places = values.map(() => '?').join(', ')
  return (
    (await transaction.run(
      `INSERT INTO executions (${EXECUTION_COLUMNS}, attended) VALUES (${places}) ON CONFLICT DO NOTHING`,
      ...values,
    )) === 1
  )
}

/** Its guest has not got all of its input yet. */
export async function notePendingInput(transaction: Transaction, id: string): Promise<void> {
  await transaction.run(`UPDATE executions SET input_pending = 1 WHERE id = ?`, id)
}

export async function noteWholeInput(transaction: Transaction, id: string): Promise<void> {
  await transaction.run(`UPDATE executions SET input_pending = 0 WHERE id = ?`, id)
}

export async function isInputPending(sql: Sql, id: string): Promise<boolean> {
  const row = await sql.get(`SELECT input_pending FROM executions WHERE id = ?`, id)
  return row !== undefined && new RowReader('executions', row).number('input_pending') === 1
}

/** The first end counts: gives the status that is stored, or `null` when it had ended before. What was killed on request is `killedAs`. */
export async function endExecution(
  transaction: Transaction,
  id: string,
  end: ExecutionEnd & { readonly isKilled?: boolean; readonly killedAs?: ExecutionStatus },
): Promise<ExecutionStatus | null> {
  const text = `UPDATE executions SET status = CASE WHEN cancel_at IS NOT NULL AND ? = 1 THEN ? ELSE ? END,
    exit_code = ?, signal = ?, ended_at = ?, duration_ms = ?, cause = ?, output_seq = ?, output = ?
    WHERE id = ? AND status = 'running' RETURNING status`
  const { status, exitCode, signal, endedAt, durationMs, cause = null, outputSeq, output, isKilled = false, killedAs = 'cancelled' } = end
  const causeText = cause === null ? null : JSON.stringify(cause)
  const values = [isKilled ? 1 : 0, killedAs, status, exitCode, signal, endedAt, durationMs, causeText, outputSeq, output, id]
  const row = await transaction.get(text, ...values)
  return row === undefined ? null : new RowReader('executions', row).word('status', EXECUTION_STATUSES)
}

/** Removes the record of one that was never sent to its guest, also when the loss of its sandbox has ended it. Gives its status; `null`: there is none. */
export async function withdrawExecution(transaction: Transaction, id: string, sandboxId: string): Promise<ExecutionStatus | null> {
  const text = `DELETE FROM executions WHERE id = ? AND sandbox_id = ? AND status IN ('running', 'lost') RETURNING status`
  const row = await transaction.get(text, id, sandboxId)
  return row === undefined ? null : new RowReader('executions', row).word('status', EXECUTION_STATUSES)
}

/** What it printed, for an end that was written by somebody who did not know. */
export async function addOutputOfEnded(
  transaction: Transaction,
  id: string,
  { outputSeq, output }: Pick<ExecutionEnd, 'outputSeq' | 'output'>,
): Promise<boolean> {
  const text = `UPDATE executions SET output_seq = ?, output = ? WHERE id = ? AND status <> 'running' AND output IS NULL AND output_seq <= ?`
  return (await transaction.run(text, outputSeq, output, id, outputSeq)) === 1
}

/** Written down before anything is killed, so that a restart goes on with it. `false` when it has ended. */
export async function requestCancel(transaction: Transaction, id: string, at: number): Promise<boolean> {
  const text = `UPDATE executions SET cancel_at = COALESCE(cancel_at, ?) WHERE id = ? AND status = 'running'`
  return (await transaction.run(text, at, id)) === 1
}

export async function findExecution(sql: Sql, tenantId: string, sessionId: string, id: string): Promise<ExecutionRow | null> {
  const row = await sql.get(
    `SELECT ${EXECUTION_COLUMNS} FROM executions WHERE id = ? AND session_id = ? AND tenant_id = ?`,
    id,
    sessionId,
    tenantId,
  )
  return row === undefined ? null : parseExecution(row)
}

export async function runningExecutions(sql: Sql, sessionId: string): Promise<readonly ExecutionRow[]> {
  return (await sql.all(`SELECT ${EXECUTION_COLUMNS} FROM executions WHERE session_id = ? AND status = 'running'`, sessionId)).map(
    parseExecution,
  )
}

/** In which session of a tenant it is; `null`: there is none. */
export async function sessionOfExecution(sql: Sql, tenantId: string, id: string): Promise<string | null> {
  const row = await sql.get(`SELECT session_id FROM executions WHERE id = ? AND tenant_id = ?`, id, tenantId)
  return row === undefined ? null : new RowReader('executions', row).text('session_id')
}

/** Everything that runs in sessions of one server. `CROSS JOIN` makes SQLite begin with the index of what runs. */
export async function hostedRunning(sql: Sql, serverId: string): Promise<readonly { readonly id: string; readonly session: SessionRef }[]> {
  const text = `SELECT executions.id AS id, session_id, sessions.tenant_id AS tenant_id FROM executions CROSS JOIN sessions
    WHERE executions.status = 'running' AND sessions.id = session_id AND sessions.server_id = ?`
  return (await sql.all(text, serverId)).map((row) => {
    const read = new RowReader('executions', row)
    return { id: read.text('id'), session: { id: read.text('session_id'), tenantId: read.text('tenant_id') } }
  })
}

/** Newest first. */
export async function listExecutions(
  sql: Sql,
  tenantId: string,
  sessionId: string,
  after: { readonly startedAt: number; readonly id: string } | null,
  limit: number,
): Promise<readonly ExecutionRow[]> {
  const from = after === null ? '' : `AND (started_at < ? OR (started_at = ? AND id < ?))`
  const values = after === null ? [] : [after.startedAt, after.startedAt, after.id]
  const text = `SELECT ${EXECUTION_COLUMNS} FROM executions WHERE session_id = ? AND tenant_id = ? ${from} ORDER BY started_at DESC, id DESC LIMIT ?`
  return (await sql.all(text, sessionId, tenantId, ...values, limit)).map(parseExecution)
}

/** What a short execution printed. */
export async function storedOutput(sql: Sql, id: string): Promise<Uint8Array | null> {
  const row = await sql.get(`SELECT output FROM executions WHERE id = ?`, id)
  return row === undefined ? null : new RowReader('executions', row).bytesOrNull('output')
}

/** Of those that have ended. */
export async function deleteExecutions(transaction: Transaction, sessionId: string, ids: readonly string[]): Promise<void> {
  const places = ids.map(() => '?').join(', ')
  await transaction.run(`DELETE FROM executions WHERE session_id = ? AND status <> 'running' AND id IN (${places})`, sessionId, ...ids)
}

/** Which of these ids are executions of the session. */
export async function executionsKnown(sql: Sql, sessionId: string, ids: readonly string[]): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const places = ids.map(() => '?').join(', ')
  const rows = await sql.all(`SELECT id FROM executions WHERE session_id = ? AND id IN (${places})`, sessionId, ...ids)
  return rows.map((row) => new RowReader('executions', row).text('id'))
}

/** An ended execution that may be removed. */
export interface OldExecution {
  readonly id: string
  readonly sessionId: string
  readonly endedAt: number
  /** Of what it printed, in its row; `null` when that lies in files. */
  readonly storedBytes: number | null
}

/** A position in the ended executions of a tenant, oldest first. */
export interface EndedPosition {
  readonly endedAt: number
  readonly id: string
}
export const OLDEST: EndedPosition = { endedAt: 0, id: '' }

/**
 * Looks at `limit` ended executions of a tenant after a position. Gives those that this server may remove, and where to go on; `null`
 * when there are no more. Not removed: those of a session that is held or hosted elsewhere, those whose session keeps them longer, and the
 * last run of a named process.
 */
export async function oldExecutions(
  sql: Sql,
  {
    tenantId,
    serverId,
    now,
    before,
  }: { readonly tenantId: string; readonly serverId: string; readonly now: number; readonly before: number | null },
  after: EndedPosition,
  limit: number,
): Promise<{ readonly executions: readonly OldExecution[]; readonly next: EndedPosition | null }> {
  const seen = await sql.all(
    `SELECT id, ended_at FROM executions WHERE tenant_id = ? AND ended_at <= ? AND (ended_at > ? OR (ended_at = ? AND id > ?))
      ORDER BY ended_at, id LIMIT ?`,
    ...[tenantId, before ?? now, after.endedAt, after.endedAt, after.id, limit],
  )
  if (seen.length === 0) return { executions: [], next: null }
  const positions = seen.map((row) => {
    const read = new RowReader('executions', row)
    return { id: read.text('id'), endedAt: read.number('ended_at') }
  })
  const rows = await sql.all(
    `SELECT e.id, e.session_id, e.ended_at, LENGTH(e.output) AS stored_bytes FROM executions e JOIN sessions s ON s.id = e.session_id
      WHERE e.id IN (${positions.map(() => '?').join(', ')}) AND e.status <> 'running' AND s.held_at IS NULL
        AND (s.server_id = ? OR s.server_id IS NULL) AND (? = 0 OR e.ended_at + s.record_ms <= ?)
        AND (e.kind <> 'process' OR EXISTS (SELECT 1 FROM executions n
          WHERE n.session_id = e.session_id AND n.started_at > e.started_at AND n.name = e.name))
      ORDER BY e.ended_at, e.id`,
    ...[...positions.map(({ id }) => id), serverId, before === null ? 0 : 1, now],
  )
  const executions = rows.map((row) => {
    const read = new RowReader('executions', row)
    return {
      id: read.text('id'),
      sessionId: read.text('session_id'),
      endedAt: read.number('ended_at'),
      storedBytes: read.numberOrNull('stored_bytes'),
    }
  })
  return { executions, next: positions.length < limit ? null : (positions.at(-1) ?? null) }
}

/** The oldest ones that have ended. */
export async function endedExecutionIds(sql: Sql, sessionId: string, limit: number): Promise<readonly string[]> {
  const text = `SELECT id FROM executions WHERE session_id = ? AND status <> 'running' ORDER BY started_at, id LIMIT ?`
  return (await sql.all(text, sessionId, limit)).map((row) => new RowReader('executions', row).text('id'))
}
