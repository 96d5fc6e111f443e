/**
 * The sealed values of session credentials. What else is known of a credential is in its session's row, which lists all of them.
 */
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, Transaction } from '../store.ts'

export interface SealedCredential {
  readonly sessionId: string
  readonly name: string
  readonly value: Uint8Array
}

/** In place of an earlier value of this name. */
export async function putCredentialValue(transaction: Transaction, { sessionId, name, value }: SealedCredential): Promise<void> {
  const text = `INSERT INTO credentials (session_id, name, value) VALUES (?, ?, ?)
    ON CONFLICT (session_id, name) DO UPDATE SET value = excluded.value`
  await transaction.run(text, sessionId, name, value)
}

export async function credentialValues(sql: Sql, sessionId: string): Promise<readonly SealedCredential[]> {
  return (await sql.all(`SELECT session_id, name, value FROM credentials WHERE session_id = ?`, sessionId)).map(parse)
}

export async function deleteCredentialValues(transaction: Transaction, sessionId: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  const places = names.map(() => '?').join(', ')
  await transaction.run(`DELETE FROM credentials WHERE session_id = ? AND name IN (${places})`, sessionId, ...names)
}

/** A page of all values, in the order of their sessions and names. */
export async function credentialPage(
  sql: Sql,
  after: { readonly sessionId: string; readonly name: string },
  limit: number,
): Promise<readonly SealedCredential[]> {
  const text = `SELECT session_id, name, value FROM credentials WHERE (session_id, name) > (?, ?) ORDER BY session_id, name LIMIT ?`
  return (await sql.all(text, after.sessionId, after.name, limit)).map(parse)
}

/** Seals the same value with another key; `false` when it was replaced or removed meanwhile. */
export async function resealCredential(transaction: Transaction, before: SealedCredential, value: Uint8Array): Promise<boolean> {
  const text = `UPDATE credentials SET value = ? WHERE session_id = ? AND name = ? AND value = ?`
  return (await transaction.run(text, value, before.sessionId, before.name, before.value)) === 1
}

function parse(row: Row): SealedCredential {
  const read = new RowReader('credentials', row)
  return { sessionId: read.text('session_id'), name: read.text('name'), value: read.bytes('value') }
}
