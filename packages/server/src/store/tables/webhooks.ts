/**
 * The table of webhooks: where events go, how far each has come, and when it is to be tried again.
 *
 * Stands beside the flow. Every change names the row as it was read; who comes second changes nothing. So of two servers only one
 * delivers: the one that moved `next_at`.
 */
import { z } from 'zod'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'

export const WEBHOOK_STATES = ['active', 'paused'] as const

export interface WebhookRow {
  readonly id: string
  readonly tenantId: string
  /** Scheme and host. */
  readonly url: string
  /** The whole address, sealed; `null` in rows of older versions, whose `url` is the whole address. */
  readonly target: Uint8Array | null
  /** Sealed. */
  readonly secret: Uint8Array
  /** Empty: every type. */
  readonly types: readonly string[]
  readonly state: (typeof WEBHOOK_STATES)[number]
  /** The turn (`turnOf`) up to which every event is dealt with. */
  readonly position: number
  /** How often the next event has been tried in vain. */
  readonly attempts: number
  readonly nextAt: number
  readonly lastProblem: string | null
  readonly version: number
  readonly createdAt: number
  readonly createdBy: string
}

export type WebhookChange = Partial<Pick<WebhookRow, 'state' | 'position' | 'attempts' | 'nextAt' | 'lastProblem'>>

export async function insertWebhook(transaction: Transaction, row: WebhookRow): Promise<void> {
  await transaction.run(
    `INSERT INTO webhooks
      (id, tenant_id, url, target, secret, types, state, position, attempts, next_at, last_problem, version, created_at, created_by)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[row.id, row.tenantId, row.url, row.target, row.secret, JSON.stringify(row.types), row.state, row.position, row.attempts],
    ...[row.nextAt, row.lastProblem, row.version, row.createdAt, row.createdBy],
  )
}

/** Gives the row as it is now, or `null` when somebody was quicker. */
export async function updateWebhook(transaction: Transaction, before: WebhookRow, change: WebhookChange): Promise<WebhookRow | null> {
  const after: WebhookRow = { ...before, ...change, version: before.version + 1 }
  const changed = await transaction.run(
    `UPDATE webhooks SET state = ?, position = ?, attempts = ?, next_at = ?, last_problem = ?, version = ?
      WHERE id = ? AND tenant_id = ? AND version = ?`,
    ...[after.state, after.position, after.attempts, after.nextAt, after.lastProblem, after.version],
    ...[before.id, before.tenantId, before.version],
  )
  return changed === 1 ? after : null
}

export async function unsealedWebhooks(sql: Sql): Promise<readonly WebhookRow[]> {
  return (await sql.all('SELECT * FROM webhooks WHERE target IS NULL ORDER BY id')).map(webhookOf)
}

export async function sealWebhookTarget(
  transaction: Transaction,
  { id }: WebhookRow,
  { url, target }: { readonly url: string; readonly target: Uint8Array },
): Promise<void> {
  await transaction.run('UPDATE webhooks SET url = ?, target = ? WHERE id = ? AND target IS NULL', url, target, id)
}

export async function deleteWebhook(transaction: Transaction, { id, tenantId, version }: WebhookRow): Promise<boolean> {
  return (await transaction.run('DELETE FROM webhooks WHERE id = ? AND tenant_id = ? AND version = ?', id, tenantId, version)) === 1
}

export async function lockWebhook(transaction: Transaction, tenantId: string, id: string): Promise<WebhookRow | null> {
  const row = await transaction.get(`SELECT * FROM webhooks WHERE id = ? AND tenant_id = ? ${transaction.forUpdate}`, id, tenantId)
  return row === undefined ? null : webhookOf(row)
}

export async function webhooksOfTenant(sql: Sql, tenantId: string): Promise<readonly WebhookRow[]> {
  const rows = await sql.all('SELECT * FROM webhooks WHERE tenant_id = ? ORDER BY created_at, id', tenantId)
  return rows.map(webhookOf)
}

/** Those that may be served now, in the order of their ids after one. */
export async function dueWebhooks(sql: Sql, now: number, after: string, limit: number): Promise<readonly WebhookRow[]> {
  const text = `SELECT * FROM webhooks WHERE state = 'active' AND next_at <= ? AND id > ? ORDER BY id LIMIT ?`
  return (await sql.all(text, now, after, limit)).map(webhookOf)
}

function webhookOf(row: Row): WebhookRow {
  const read = new RowReader('webhooks', row)
  return {
    id: read.text('id'),
    tenantId: read.text('tenant_id'),
    url: read.text('url'),
    target: read.bytesOrNull('target'),
    secret: read.bytesOrNull('secret') ?? new Uint8Array(),
    types: read.json('types', z.array(z.string())),
    state: read.word('state', WEBHOOK_STATES),
    position: read.number('position'),
    attempts: read.number('attempts'),
    nextAt: read.number('next_at'),
    lastProblem: read.textOrNull('last_problem'),
    version: read.number('version'),
    createdAt: read.number('created_at'),
    createdBy: read.text('created_by'),
  }
}
