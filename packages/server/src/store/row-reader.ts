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
      return schema.parse(JSON.parse(text))
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
