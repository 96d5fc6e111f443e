/**
 * Rows that were committed or read before, kept for those who come for them again.
 *
 * Stands beside the flow. Every change of such a row gives it a new version, so whoever finds the version of a row in the database knows
 * whether the kept one still is it; a wide row costs ten times as much to read as its version. What a transaction only tries is never kept.
 */
export interface Versioned {
  readonly id: string
  readonly version: number
}

export class KeptRows<R extends Versioned> {
  readonly #rows = new Map<string, R>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** The row, if it is kept in this version. */
  get(id: string, version: number): R | undefined {
    const row = this.#rows.get(id)
    return row?.version === version ? row : undefined
  }

  /** Only for what is committed. The one that was changed longest ago gives way. */
  keep(row: R): void {
    this.#rows.delete(row.id)
    this.#rows.set(row.id, row)
    if (this.#rows.size > this.#most) for (const oldest of this.#rows.keys().take(1)) this.#rows.delete(oldest)
  }
}
