/**
 * The table of servers: who is alive, by a promise that is renewed.
 *
 * Stands beside the flow. A session belongs to the server that hosts it for as long as that one keeps its promise.
 */
import { RowReader } from '../row-reader.ts'
import type { Sql, Transaction } from '../store.ts'

/** Says that this server lives until then, and where it is reached. */
export async function renewServer(
  transaction: Transaction,
  server: { readonly id: string; readonly url: string | null; readonly now: number; readonly aliveUntil: number },
): Promise<void> {
  await transaction.run(
    `INSERT INTO servers (id, url, started_at, alive_until) VALUES (?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET url = excluded.url, alive_until = excluded.alive_until`,
    server.id,
    server.url,
    server.now,
    server.aliveUntil,
  )
}

export interface ServerRow {
  readonly id: string
  readonly url: string | null
  readonly aliveUntil: number
}

export async function findServer(sql: Sql, id: string): Promise<ServerRow | null> {
  const row = await sql.get(`SELECT id, url, alive_until FROM servers WHERE id = ?`, id)
  if (row === undefined) return null
  const read = new RowReader('servers', row)
  return { id: read.text('id'), url: read.textOrNull('url'), aliveUntil: read.number('alive_until') }
}

/** Makes transactions that give out places on this server follow one another. */
export async function lockServer(transaction: Transaction, id: string): Promise<void> {
  await transaction.get(`SELECT id FROM servers WHERE id = ? ${transaction.forUpdate}`, id)
}
