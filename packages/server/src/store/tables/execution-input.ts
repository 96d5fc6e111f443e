/**
 * Of the table of executions: what one takes after its start, and who attends it.
 *
 * Stands beside the flow. Written for the few that take anything, so that an ordinary command costs no more for it.
 */
import { RowReader } from '../row-reader.ts'
import type { Sql, Transaction } from '../store.ts'
import type { SessionRef } from './sessions.ts'

/** `open`: its stdin is a pipe that more may come through. `closed`: no more may. */
const KINDS = ['none', 'open', 'closed', 'terminal'] as const
export type InputKind = (typeof KINDS)[number]

export async function noteInput(transaction: Transaction, id: string, input: InputKind): Promise<void> {
  await transaction.run(`UPDATE executions SET input = ? WHERE id = ?`, input, id)
}

export async function inputOf(sql: Sql, id: string): Promise<InputKind> {
  const row = await sql.get(`SELECT input FROM executions WHERE id = ?`, id)
  return row === undefined ? 'none' : new RowReader('executions', row).word('input', KINDS)
}

/**
 * Who it must not run without for long: nobody, a client at its terminal, or the caller who waits for its answer. `reader`: it waits for who
 * reads its output, and runs on without. In this order in the table.
 */
const ATTENDED_BY = ['nobody', 'client', 'caller', 'reader'] as const
export type AttendedBy = (typeof ATTENDED_BY)[number]

export function attendedNumber(by: AttendedBy): number {
  return ATTENDED_BY.indexOf(by)
}

/** Whether it ends once nobody is at its terminal any more; otherwise it runs on. */
export async function noteAttended(transaction: Transaction, id: string, isSo: boolean): Promise<void> {
  await transaction.run(`UPDATE executions SET attended = ? WHERE id = ?`, isSo ? 1 : 0, id)
}

export async function isAttended(sql: Sql, id: string): Promise<boolean> {
  const row = await sql.get(`SELECT attended FROM executions WHERE id = ?`, id)
  return row !== undefined && new RowReader('executions', row).number('attended') > 0
}

/** Whether it waits for the readers of its output. */
export async function waitsForReader(sql: Sql, id: string): Promise<boolean> {
  const row = await sql.get(`SELECT attended FROM executions WHERE id = ?`, id)
  return row !== undefined && ATTENDED_BY[new RowReader('executions', row).number('attended')] === 'reader'
}

/** Those that run in sessions of this server. */
export async function attendedExecutions(
  sql: Sql,
  serverId: string,
): Promise<readonly { readonly id: string; readonly session: SessionRef; readonly by: AttendedBy }[]> {
  const text = `SELECT executions.id AS id, session_id, sessions.tenant_id AS tenant_id, attended
    FROM executions CROSS JOIN sessions
    WHERE executions.status = 'running' AND attended > 0 AND sessions.id = session_id AND sessions.server_id = ?`
  return (await sql.all(text, serverId)).map((row) => {
    const read = new RowReader('executions', row)
    const session = { id: read.text('session_id'), tenantId: read.text('tenant_id') }
    return { id: read.text('id'), session, by: ATTENDED_BY[read.number('attended')] ?? 'client' }
  })
}
