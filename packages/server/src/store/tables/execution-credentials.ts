/**
 * Which credentials an execution received, by name. Kept as long as its record: what it left in the background has them too.
 */
import { z } from 'zod'
import { RowReader } from '../row-reader.ts'
import type { Sql, Transaction } from '../store.ts'

const Names = z.array(z.string())

/** In the transaction that inserts the execution. */
export async function noteCredentials(transaction: Transaction, executionId: string, names: readonly string[]): Promise<void> {
  await transaction.run(`UPDATE executions SET credentials = ? WHERE id = ?`, JSON.stringify(names), executionId)
}

/** Running executions of a session that received at least one of these credentials. */
export async function runningReceivers(sql: Sql, sessionId: string, names: readonly string[]): Promise<readonly string[]> {
  const text = `SELECT id, credentials FROM executions WHERE session_id = ? AND status = 'running' AND credentials IS NOT NULL`
  return receiversIn(await sql.all(text, sessionId), names)
}

/** Of these ids, executions of the session that received none of these credentials. */
export async function notReceivers(
  sql: Sql,
  sessionId: string,
  ids: readonly string[],
  names: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const places = ids.map(() => '?').join(', ')
  const rows = await sql.all(`SELECT id, credentials FROM executions WHERE session_id = ? AND id IN (${places})`, sessionId, ...ids)
  const received = new Set(receiversIn(rows, names))
  return rows.map((row) => new RowReader('executions', row).text('id')).filter((id) => !received.has(id))
}

function receiversIn(rows: Awaited<ReturnType<Sql['all']>>, names: readonly string[]): readonly string[] {
  const wanted = new Set(names)
  return rows.flatMap((row) => {
    const read = new RowReader('executions', row)
    return (read.jsonOrNull('credentials', Names) ?? []).some((name) => wanted.has(name)) ? [read.text('id')] : []
  })
}
