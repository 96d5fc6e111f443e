/**
 * The table of links to web apps inside sandboxes: made once, never changed, gone with their time or their session.
 *
 * Stands beside the flow. What makes a link hard to guess is not here: whoever reads this table cannot use it.
 */
import { Groups, KEY_KINDS, ROLES } from '@holdfast/protocol'
import { z } from 'zod'
import { RowReader } from '../row-reader.ts'
import type { Sql, Transaction } from '../store.ts'

/** Who asked for a link, as access knows him; what he asked for is done in his name. */
export const LinkAsker = z.object({
  tenantId: z.string(),
  subject: z.string(),
  groups: Groups,
  role: z.enum(ROLES),
  kind: z.enum(KEY_KINDS),
  keyId: z.string().nullable(),
  onBehalfOf: z.string().nullable(),
})
export type LinkAsker = z.output<typeof LinkAsker>

export interface PreviewLink {
  readonly id: string
  readonly sessionId: string
  readonly port: number
  readonly asker: LinkAsker
  readonly expiresAt: number
}

export async function insertPreviewLink(transaction: Transaction, { id, sessionId, port, asker, expiresAt }: PreviewLink): Promise<void> {
  await transaction.run(
    `INSERT INTO preview_links (id, session_id, port, asker, expires_at) VALUES (?, ?, ?, ?, ?)`,
    ...[id, sessionId, port, JSON.stringify(asker), expiresAt],
  )
}

export async function findPreviewLink(sql: Sql, id: string): Promise<PreviewLink | null> {
  const row = await sql.get(`SELECT id, session_id, port, asker, expires_at FROM preview_links WHERE id = ?`, id)
  if (row === undefined) return null
  const read = new RowReader('preview_links', row)
  return {
    id: read.text('id'),
    sessionId: read.text('session_id'),
    port: read.number('port'),
    asker: read.json('asker', LinkAsker),
    expiresAt: read.number('expires_at'),
  }
}

export async function deleteExpiredPreviewLinks(transaction: Transaction, now: number, limit: number): Promise<number> {
  // What another server is deleting at this moment is left to it.
  const skip = transaction.dialect === 'sqlite' ? '' : 'FOR UPDATE SKIP LOCKED'
  const old = `SELECT id FROM preview_links WHERE expires_at <= ? ORDER BY expires_at LIMIT ? ${skip}`
  return transaction.run(`DELETE FROM preview_links WHERE id IN (${old})`, now, limit)
}
