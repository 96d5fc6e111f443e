/**
 * Of the table of executions: what one takes after its start, and whether somebody is at its terminal.
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

/** Whether it ends once nobody is at its terminal any more; otherwise it runs on. */
export async function noteAttended(transaction: Transaction, id: string, isSo: boolean): Promise<void> {
  await transaction.run(`UPDATE executions SET attended = ? WHERE id = ?`, isSo ? 1 : 0, id)
}

export async function isAttended(sql: Sql, id: string): Promise<boolean> {
  const row = await sql.get(`SELECT attended FROM executions WHERE id = ?`, id)
  return row !== undefined && new RowReader('executions', row).number('attended') === 1
}

/** Those that run in sessions of this server. */
export async function attendedExecutions(
  sql: Sql,
  serverId: string,
): Promise<readonly { readonly id: string; readonly session: SessionRef }[]> {
  const text = `SELECT executions.id AS id, session_id, sessions.tenant_id AS tenant_id
    FROM executions JOIN sessions ON sessions.id = executions.session_id
    WHERE attended = 1 AND executions.status = 'running' AND sessions.server_id = ?`
  return (await sql.all(text, serverId)).map((row) => {
    const read = new RowReader('executions', row)
    return { id: read.text('id'), session: { id: read.text('session_id'), tenantId: read.text('tenant_id') } }
  })
}
