/**
 * What the store contract needs to know of an engine in order to try it.
 *
 * Stands beside the flow.
 */
import type { Dialect, Store } from '../store.ts'

/** One empty database, and every way to reach it. */
export interface Ground {
  readonly dialect: Dialect
  readonly store: Store
  /** Another store over the same database, as another server would open it. Closed after the proof. */
  open(): Promise<Store>
  /** What a child process gives to `openForContract`. */
  readonly address: string
  /** Everything that lies in the database, to see whether it was changed. No store may be open. */
  fingerprint(): Promise<string>
  /** Closes every store. */
  closeAll(): Promise<void>
}

/** Proofs by the promise they keep. */
export type Proofs = Readonly<Record<string, (ground: Ground) => Promise<void>>>

export interface Subject {
  readonly dialect: Dialect
  /** Makes an empty database; `remove` is called after the proof. */
  makeDatabase(): Promise<Database>
}

export interface Database {
  readonly address: string
  fingerprint(): Promise<string>
  remove(): Promise<void>
}
