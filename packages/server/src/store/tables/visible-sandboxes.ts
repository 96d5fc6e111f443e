/**
 * Sandboxes as callers see them: those of a tenant, or those that a session is in which exists for the caller.
 *
 * Stands beside the flow. Answers from the rows alone; no sandbox is asked.
 */
import { RowReader } from '../row-reader.ts'
import type { Sql, SqlValue } from '../store.ts'
import { sandboxOf } from './sandboxes.ts'
import type { SandboxRow } from './sandboxes.ts'
import { condition } from './sessions.ts'
import type { Visible } from './sessions.ts'

/** A sandbox with the sessions that are in it now. */
export interface InhabitedSandbox extends SandboxRow {
  /** Of those that exist for the caller, the ids. */
  readonly sessionIds: readonly string[]
  /** Of all. */
  readonly sessionCount: number
}

/** Newest first. */
export async function listSandboxes(
  sql: Sql,
  visible: Visible,
  after: { readonly createdAt: number; readonly id: string } | null,
  limit: number,
): Promise<readonly InhabitedSandbox[]> {
  const { text, values } = visibleTo(visible)
  const [place, of]: [string, SqlValue[]] = after === null ? ['', []] : ['AND (created_at, id) < (?, ?)', [after.createdAt, after.id]]
  const rows = await sql.all(
    `SELECT * FROM sandboxes WHERE ${text} ${place} ORDER BY created_at DESC, id DESC LIMIT ?`,
    ...[...values, ...of, limit],
  )
  return withSessions(sql, visible, rows.map(sandboxOf))
}

export async function findVisibleSandbox(sql: Sql, visible: Visible, id: string): Promise<InhabitedSandbox | null> {
  const { text, values } = visibleTo(visible)
  const row = await sql.get(`SELECT * FROM sandboxes WHERE id = ? AND ${text}`, id, ...values)
  const [found] = await withSessions(sql, visible, row === undefined ? [] : [sandboxOf(row)])
  return found ?? null
}

/** One on its way out is named by no session any more, but was made for one. */
function visibleTo(visible: Visible): { readonly text: string; readonly values: readonly SqlValue[] } {
  if (visible.owner === null) return { text: 'tenant_id = ?', values: [visible.tenantId] }
  const { text, values } = condition(visible)
  // A limit that limits nothing: without it SQLite looks through the tenant's sessions for each sandbox.
  const named = (by: string) => `EXISTS (SELECT 1 FROM (SELECT * FROM sessions WHERE ${by} LIMIT 1000000) AS inside WHERE ${text})`
  return {
    text: `tenant_id = ? AND (${named('sessions.sandbox_id = sandboxes.id')} OR ${named('sessions.id = sandboxes.session_id')})`,
    values: [visible.tenantId, ...values, ...values],
  }
}

async function withSessions(sql: Sql, visible: Visible, sandboxes: readonly SandboxRow[]): Promise<readonly InhabitedSandbox[]> {
  if (sandboxes.length === 0) return []
  const { text, values } = condition(visible)
  const rows = await sql.all(
    `SELECT id, sandbox_id, CASE WHEN ${text} THEN 1 ELSE 0 END AS is_visible FROM sessions
      WHERE sandbox_id IN (${sandboxes.map(() => '?').join(', ')}) ORDER BY id`,
    ...values,
    ...sandboxes.map(({ id }) => id),
  )
  const inhabitants = Map.groupBy(
    rows.map((row) => new RowReader('sessions', row)),
    (read) => read.text('sandbox_id'),
  )
  return sandboxes.map((sandbox) => {
    const inside = inhabitants.get(sandbox.id) ?? []
    const seen = inside.filter((read) => read.number('is_visible') === 1)
    return { ...sandbox, sessionIds: seen.map((read) => read.text('id')), sessionCount: inside.length }
  })
}
