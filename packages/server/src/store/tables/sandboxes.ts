/**
 * The table of sandboxes: what is to exist, written before it is made and removed after it is gone.
 *
 * Stands beside the flow. A sandbox is bound while a session's row names it. One that is bound by none is on its way out,
 * and only this table says so, in one statement, so that nobody can bind it at the same moment.
 */
import { SANDBOX_STATES } from '@holdfast/protocol'
import type { SandboxState } from '@holdfast/protocol'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'

export interface SandboxRow {
  readonly id: string
  readonly tenantId: string
  readonly serverId: string
  /** Whose workspace it mounts; `null` when several sessions may share it. */
  readonly sessionId: string | null
  readonly backend: string
  readonly state: SandboxState
  readonly bootId: string | null
  readonly packKey: string | null
  readonly maxSessions: number
  readonly version: number
  readonly createdAt: number
}

export function sandboxOf(row: Row): SandboxRow {
  const read = new RowReader('sandboxes', row)
  return {
    id: read.text('id'),
    tenantId: read.text('tenant_id'),
    serverId: read.text('server_id'),
    sessionId: read.textOrNull('session_id'),
    backend: read.text('backend'),
    state: read.word('state', SANDBOX_STATES),
    bootId: read.textOrNull('boot_id'),
    packKey: read.textOrNull('pack_key'),
    maxSessions: read.number('max_sessions'),
    version: read.number('version'),
    createdAt: read.number('created_at'),
  }
}

export async function insertSandbox(transaction: Transaction, sandbox: SandboxRow): Promise<void> {
  await transaction.run(
    `INSERT INTO sandboxes (id, tenant_id, server_id, session_id, backend, state, boot_id, pack_key, max_sessions, version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    sandbox.id,
    sandbox.tenantId,
    sandbox.serverId,
    sandbox.sessionId,
    sandbox.backend,
    sandbox.state,
    sandbox.bootId,
    sandbox.packKey,
    sandbox.maxSessions,
    sandbox.version,
    sandbox.createdAt,
  )
}

export async function findSandbox(sql: Sql, id: string): Promise<SandboxRow | null> {
  const row = await sql.get(`SELECT * FROM sandboxes WHERE id = ?`, id)
  return row === undefined ? null : sandboxOf(row)
}

export async function hostedSandboxes(sql: Sql, serverId: string): Promise<readonly SandboxRow[]> {
  return (await sql.all(`SELECT * FROM sandboxes WHERE server_id = ?`, serverId)).map(sandboxOf)
}

/** Those that mount the workspace of one session, also the ones on their way out. */
export async function sandboxesOfSession(sql: Sql, sessionId: string): Promise<readonly SandboxRow[]> {
  return (await sql.all(`SELECT * FROM sandboxes WHERE session_id = ?`, sessionId)).map(sandboxOf)
}

/** It runs and has said who it is. `false` when it is no longer wanted. */
export async function markSandboxReady(transaction: Transaction, id: string, bootId: string): Promise<boolean> {
  const text = `UPDATE sandboxes SET state = 'ready', boot_id = ?, version = version + 1
    WHERE id = ? AND (state = 'creating' OR (state = 'ready' AND boot_id = ?))`
  return (await transaction.run(text, bootId, id, bootId)) === 1
}

/** What there was of it is gone, and it is to be made under the same name. */
export async function remakeSandbox(transaction: Transaction, id: string): Promise<boolean> {
  const text = `UPDATE sandboxes SET state = 'creating', boot_id = NULL, version = version + 1 WHERE id = ? AND state = 'ready'`
  return (await transaction.run(text, id)) === 1
}

export async function quarantineSandbox(transaction: Transaction, id: string): Promise<boolean> {
  const text = `UPDATE sandboxes SET state = 'quarantined', version = version + 1 WHERE id = ? AND state IN ('creating', 'ready')`
  return (await transaction.run(text, id)) === 1
}

/** Those on one server that sessions of this key share and something may run in. */
export async function sandboxesOfPack(sql: Sql, packKey: string, serverId: string): Promise<readonly SandboxRow[]> {
  const text = `SELECT * FROM sandboxes WHERE pack_key = ? AND server_id = ? AND state IN ('ready', 'quarantined')`
  return (await sql.all(text, packKey, serverId)).map(sandboxOf)
}

/** Nobody else can move in from here on. `false` when others than this session are in it. */
export async function closeSandboxToOthers(transaction: Transaction, id: string, sessionId: string): Promise<boolean> {
  await transaction.get(`SELECT id FROM sandboxes WHERE id = ? ${transaction.forUpdate}`, id)
  const text = `UPDATE sandboxes SET state = CASE WHEN state = 'ending' THEN 'ending' ELSE 'quarantined' END, version = version + 1
    WHERE id = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sandbox_id = sandboxes.id AND sessions.id <> ?)`
  return (await transaction.run(text, id, sessionId)) === 1
}

/** Those of a server that no session names, and those already on their way out. */
export async function unboundSandboxes(sql: Sql, serverId: string): Promise<readonly string[]> {
  const text = `SELECT id FROM sandboxes WHERE server_id = ?
    AND (state = 'ending' OR NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sandbox_id = sandboxes.id))`
  return (await sql.all(text, serverId)).map((row) => new RowReader('sandboxes', row).text('id'))
}

/** Nobody can bind it from here on. `false` when a session names it. */
export async function condemnSandbox(transaction: Transaction, id: string): Promise<boolean> {
  await transaction.get(`SELECT id FROM sandboxes WHERE id = ? ${transaction.forUpdate}`, id)
  const text = `UPDATE sandboxes SET state = 'ending', version = version + 1
    WHERE id = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sandbox_id = sandboxes.id)`
  return (await transaction.run(text, id)) === 1
}

/** After it was destroyed. */
export async function deleteSandbox(transaction: Transaction, id: string): Promise<boolean> {
  return (await transaction.run(`DELETE FROM sandboxes WHERE id = ? AND state = 'ending'`, id)) === 1
}

/** One on this server that takes another session of this kind, locked against other takers; the fullest first. */
export async function lockRoomySandbox(transaction: Transaction, packKey: string, serverId: string): Promise<SandboxRow | null> {
  const candidates = await transaction.all(
    `SELECT * FROM sandboxes WHERE pack_key = ? AND server_id = ? AND state IN ('creating', 'ready') ORDER BY created_at, id ${transaction.forUpdate}`,
    packKey,
    serverId,
  )
  for (const sandbox of candidates.map(sandboxOf)) {
    const row = await transaction.get(`SELECT count(*) AS n FROM sessions WHERE sandbox_id = ?`, sandbox.id)
    if (row !== undefined && new RowReader('sessions', row).number('n') < sandbox.maxSessions) return sandbox
  }
  return null
}
