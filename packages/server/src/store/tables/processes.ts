/**
 * Of the table of executions: those that have a name, seen by their name.
 *
 * Stands beside the flow. Of several with one name the newest counts; at most one of them runs, which an index sees to.
 */
import type { Sql } from '../store.ts'
import { RowReader } from '../row-reader.ts'
import type { LabelMatch } from './session-labels.ts'
import { openSessionIds } from './sessions.ts'
import type { SessionRef, Visible } from './sessions.ts'
import { EXECUTION_COLUMNS, parseExecution } from './executions.ts'
import type { ExecutionRow } from './executions.ts'

/** The newest of each name, newest first. */
export async function listProcesses(sql: Sql, { id, tenantId }: SessionRef, limit: number): Promise<readonly ExecutionRow[]> {
  const text = `SELECT ${EXECUTION_COLUMNS} FROM executions AS own
    WHERE session_id = ? AND tenant_id = ? AND name IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM executions AS later WHERE later.session_id = own.session_id AND later.name = own.name
        AND (later.started_at, later.id) > (own.started_at, own.id))
    ORDER BY started_at DESC, id DESC LIMIT ?`
  return (await sql.all(text, id, tenantId, limit)).map(parseExecution)
}

/** The newest of that name. */
export async function findProcess(sql: Sql, { id, tenantId }: SessionRef, name: string): Promise<ExecutionRow | null> {
  const text = `SELECT ${EXECUTION_COLUMNS} FROM executions WHERE session_id = ? AND tenant_id = ? AND name = ?
    ORDER BY started_at DESC, id DESC LIMIT 1`
  const row = await sql.get(text, id, tenantId, name)
  return row === undefined ? null : parseExecution(row)
}

export interface EndedFilter {
  /** Of sessions that have this label and are not over. */
  readonly label: LabelMatch
  readonly endedAfter: number
}

/** Ids of those that ended and that nobody asked to end, of each name the newest, the last to end first. */
export async function listEndedProcesses(
  sql: Sql,
  visible: Visible,
  { label, endedAfter }: EndedFilter,
  limit: number,
): Promise<readonly string[]> {
  const sessions = openSessionIds(visible, label)
  const text = `SELECT id FROM executions AS own
    WHERE session_id IN (${sessions.text}) AND name IS NOT NULL AND ended_at > ? AND cancel_at IS NULL AND status <> 'not_started'
      AND NOT EXISTS (
        SELECT 1 FROM executions AS later WHERE later.session_id = own.session_id AND later.name = own.name
          AND (later.started_at, later.id) > (own.started_at, own.id))
    ORDER BY ended_at DESC, id DESC LIMIT ?`
  const rows = await sql.all(text, ...sessions.values, endedAfter, limit)
  return rows.map((row) => new RowReader('executions', row).text('id'))
}

/** Ids of those of that name that have ended, without the newest so many; at most a hundred. */
export async function oldProcesses(sql: Sql, { id, tenantId }: SessionRef, name: string, newest: number): Promise<readonly string[]> {
  const text = `SELECT id, status FROM executions WHERE session_id = ? AND tenant_id = ? AND name = ?
    ORDER BY started_at DESC, id DESC LIMIT 100 OFFSET ?`
  return (await sql.all(text, id, tenantId, name, newest)).flatMap((row) => {
    const read = new RowReader('executions', row)
    return read.text('status') === 'running' ? [] : [read.text('id')]
  })
}
