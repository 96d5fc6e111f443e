/**
 * PostgreSQL's columns as the store's values: the same that SQLite gives.
 *
 * Stands beside the flow. Whole numbers come as numbers, truth values as 0 and 1, bytes as plain bytes, all else as text.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { CustomTypesConfig } from 'pg'
import type { SqlValue } from '../store.ts'

/** Object ids of the types, fixed in PostgreSQL's catalogue. */
const BOOL = 16
const BYTEA = 17
const INT8 = 20
const INT2 = 21
const INT4 = 23
const FLOAT4 = 700
const FLOAT8 = 701
const NUMERIC = 1700

const PARSERS: Readonly<Record<number, (text: string) => SqlValue>> = {
  [BOOL]: (text) => (text === 't' ? 1 : 0),
  [BYTEA]: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')), // `\x` and two digits per byte
  [INT8]: wholeNumber,
  [INT2]: Number,
  [INT4]: Number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
  [NUMERIC]: Number,
}

export const COLUMN_TYPES: CustomTypesConfig = {
  getTypeParser: (id: number) => PARSERS[id] ?? ((text: string) => text),
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  throw new HoldfastError('internal', `${text} in the database is too large for a number`)
}
