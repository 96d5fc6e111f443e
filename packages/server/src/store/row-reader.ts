/**
 * A row as it comes from the database → values that are what their types say.
 *
 * Stands beside the flow. What lies on disk is not trusted: a column of another kind, an unknown word or text that is no JSON is a
 * corrupt database, named by table and column, and never a wrong value further on.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { z } from 'zod'
import type { Row, SqlValue } from './store.ts'

export class RowReader {
  readonly #table: string
  readonly #row: Row

  constructor(table: string, row: Row) {
    this.#table = table
    this.#row = row
  }

  text(column: string): string {
    return this.textOrNull(column) ?? this.#refuse(column)
  }

  textOrNull(column: string): string | null {
    const value = this.#value(column)
    return value === null || typeof value === 'string' ? value : this.#refuse(column)
  }

  number(column: string): number {
    return this.numberOrNull(column) ?? this.#refuse(column)
  }

  numberOrNull(column: string): number | null {
    const value = this.#value(column)
    return value === null || (typeof value === 'number' && Number.isSafeInteger(value)) ? value : this.#refuse(column)
  }

  bytes(column: string): Uint8Array {
    return this.bytesOrNull(column) ?? this.#refuse(column)
  }

  bytesOrNull(column: string): Uint8Array | null {
    const value = this.#value(column)
    return value === null || value instanceof Uint8Array ? value : this.#refuse(column)
  }

  word<W extends string>(column: string, words: readonly W[]): W {
    return this.wordOrNull(column, words) ?? this.#refuse(column)
  }

  wordOrNull<W extends string>(column: string, words: readonly W[]): W | null {
    const value = this.textOrNull(column)
    return value === null ? null : (words.find((word) => word === value) ?? this.#refuse(column))
  }

  json<S extends z.ZodType>(column: string, schema: S): z.output<S> {
    return this.jsonOrNull(column, schema) ?? this.#refuse(column)
  }

  jsonOrNull<S extends z.ZodType>(column: string, schema: S): z.output<S> | null {
    const text = this.textOrNull(column)
    if (text === null) return null
    try {
      return parsedJson(text, schema)
    } catch (cause) {
      return this.#refuse(column, cause)
    }
  }

  #value(column: string): SqlValue {
    const value = this.#row[column]
    return value === undefined ? this.#refuse(column) : value
  }

  #refuse(column: string, cause?: unknown): never {
    throw new HoldfastError('store_corrupt', `the column ${column} of ${this.#table} holds something it cannot hold`, {}, { cause })
  }
}

const MAX_KEPT = 256
const MAX_KEPT_LENGTH = 1024
const kept = new WeakMap<z.ZodType, Map<string, unknown>>()

/** The same few texts are read with every command. What is given is shared, so nobody may change it. */
function parsedJson<S extends z.ZodType>(text: string, schema: S): z.output<S> {
  const ofSchema = kept.get(schema) ?? new Map<string, unknown>()
  kept.set(schema, ofSchema)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what this schema gave is kept for it
  if (ofSchema.has(text)) return ofSchema.get(text) as z.output<S>
  const value = deepFrozen(schema.parse(JSON.parse(text)))
  if (text.length > MAX_KEPT_LENGTH) return value
  if (ofSchema.size >= MAX_KEPT) ofSchema.clear()
  ofSchema.set(text, value)
  return value
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) deepFrozen(part)
  return Object.freeze(value)
}
