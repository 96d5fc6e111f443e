/**
 * The table of restarts: for each process that is started again when it ends, by which rules, how often it was, and what is started.
 *
 * Stands beside the flow. A command is sealed; without one, the process is not started again, and the row only tells of it.
 */
import { RESTART_POLICIES } from '@holdfast/protocol'
import type { RestartPolicy } from '@holdfast/protocol'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'
import type { SessionRef } from './sessions.ts'

export interface RestartRow {
  readonly sessionId: string
  readonly name: string
  readonly policy: RestartPolicy
  /** In all; `null`: there is no limit. */
  readonly maxRestarts: number | null
  readonly backoffMs: number
  readonly restarts: number
  /** Of those, how many followed one another without a long run in between. */
  readonly inARow: number
  /** Sealed; `null`: it is over. */
  readonly command: Uint8Array | null
}

const COLUMNS = 'session_id, name, policy, max_restarts, backoff_ms, restarts, in_a_row, command'

function parse(row: Row): RestartRow {
  const read = new RowReader('process_restarts', row)
  return {
    sessionId: read.text('session_id'),
    name: read.text('name'),
    policy: read.word('policy', RESTART_POLICIES),
    maxRestarts: read.numberOrNull('max_restarts'),
    backoffMs: read.number('backoff_ms'),
    restarts: read.number('restarts'),
    inARow: read.number('in_a_row'),
    command: read.bytesOrNull('command'),
  }
}

/** Takes the place of an earlier one of that name. */
export async function putRestart(transaction: Transaction, row: RestartRow): Promise<void> {
  await dropRestart(transaction, row.sessionId, row.name)
  const values = [row.sessionId, row.name, row.policy, row.maxRestarts, row.backoffMs, row.restarts, row.inARow, row.command]
  await transaction.run(`INSERT INTO process_restarts (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, ...values)
}

/** A process of that name that is started once. */
export async function dropRestart(transaction: Transaction, sessionId: string, name: string): Promise<void> {
  await transaction.run(`DELETE FROM process_restarts WHERE session_id = ? AND name = ?`, sessionId, name)
}

/** It is started again. `false` when it is over, or somebody else was quicker. */
export async function countRestart(transaction: Transaction, before: RestartRow, inARow: number): Promise<boolean> {
  const text = `UPDATE process_restarts SET restarts = restarts + 1, in_a_row = ?
    WHERE session_id = ? AND name = ? AND restarts = ? AND command IS NOT NULL`
  return (await transaction.run(text, inARow, before.sessionId, before.name, before.restarts)) === 1
}

/** It is not started again, and what it was is forgotten. */
export async function endRestart(transaction: Transaction, sessionId: string, name: string): Promise<void> {
  await transaction.run(`UPDATE process_restarts SET command = NULL WHERE session_id = ? AND name = ?`, sessionId, name)
}

/** The same for all of a session. */
export async function endRestarts(transaction: Transaction, sessionId: string): Promise<void> {
  await transaction.run(`UPDATE process_restarts SET command = NULL WHERE session_id = ? AND command IS NOT NULL`, sessionId)
}

export async function findRestart(sql: Sql, sessionId: string, name: string): Promise<RestartRow | null> {
  const row = await sql.get(`SELECT ${COLUMNS} FROM process_restarts WHERE session_id = ? AND name = ?`, sessionId, name)
  return row === undefined ? null : parse(row)
}

export async function listRestarts(sql: Sql, sessionId: string): Promise<readonly RestartRow[]> {
  return (await sql.all(`SELECT ${COLUMNS} FROM process_restarts WHERE session_id = ?`, sessionId)).map(parse)
}

/** Those that are not over. */
export async function keptRestarts(sql: Sql, sessionId: string): Promise<readonly RestartRow[]> {
  const text = `SELECT ${COLUMNS} FROM process_restarts WHERE session_id = ? AND command IS NOT NULL`
  return (await sql.all(text, sessionId)).map(parse)
}

/** Of this server, those that have any that is not over. */
export async function sessionsWithRestarts(sql: Sql, serverId: string): Promise<readonly SessionRef[]> {
  const text = `SELECT DISTINCT sessions.id AS id, sessions.tenant_id AS tenant_id
    FROM process_restarts JOIN sessions ON sessions.id = process_restarts.session_id
    WHERE command IS NOT NULL AND sessions.server_id = ?`
  return (await sql.all(text, serverId)).map((row) => {
    const read = new RowReader('sessions', row)
    return { id: read.text('id'), tenantId: read.text('tenant_id') }
  })
}
