/**
 * The table of places: up to where the output of a process was taken. One row per name, about its newest execution.
 *
 * Stands beside the flow.
 */
import { RowReader } from '../row-reader.ts'
import type { Sql, Transaction } from '../store.ts'

export interface ProcessPlace {
  readonly executionId: string
  readonly seq: number
}

export async function putPlace(transaction: Transaction, sessionId: string, name: string, place: ProcessPlace): Promise<void> {
  const text = `INSERT INTO process_places (session_id, name, execution_id, seq) VALUES (?, ?, ?, ?)
    ON CONFLICT (session_id, name) DO UPDATE SET execution_id = excluded.execution_id, seq = excluded.seq`
  await transaction.run(text, sessionId, name, place.executionId, place.seq)
}

export async function findPlace(sql: Sql, sessionId: string, name: string): Promise<ProcessPlace | null> {
  const row = await sql.get(`SELECT execution_id, seq FROM process_places WHERE session_id = ? AND name = ?`, sessionId, name)
  if (row === undefined) return null
  const read = new RowReader('process_places', row)
  return { executionId: read.text('execution_id'), seq: read.number('seq') }
}
