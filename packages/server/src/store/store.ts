/**
 * The store port: SQL in transactions, the same text for SQLite and PostgreSQL.
 *
 * Stands beside the flow: access and sessions keep what they promise in it. A statement is written once, with `?` for each value;
 * the few places where the two engines differ ask `dialect` or use `forUpdate`. Nothing here knows what a session is: tables
 * have their own files in `tables/`, and only those write SQL.
 * Why SQL by hand and no query builder: docs/adr/0010-store.md
 */

export type SqlValue = string | number | null | Uint8Array
export type Row = Readonly<Record<string, SqlValue>>
export type Dialect = 'sqlite' | 'postgres'

export interface Sql {
  readonly dialect: Dialect
  /**
   * Follows a SELECT whose row is about to be changed: empty where a transaction is alone anyway. Not the stronger FOR UPDATE: whoever
   * inserted a row that refers to this one holds its key, and two such would wait for each other.
   */
  readonly forUpdate: '' | 'FOR NO KEY UPDATE'
  /** The same for all transactions of one store, and of no other: what was read before is remembered by it. */
  readonly origin: object
  all(text: string, ...values: readonly SqlValue[]): Promise<readonly Row[]>
  get(text: string, ...values: readonly SqlValue[]): Promise<Row | undefined>
  /** Gives the number of rows changed. */
  run(text: string, ...values: readonly SqlValue[]): Promise<number>
}

/** One transaction that writes. Everything in it happens, or nothing does. */
export interface Transaction extends Sql {
  /** Runs once this is committed, in order; never after a rollback. Must not throw. */
  afterCommit(action: () => void): void
}

/**
 * What a commit must survive. `power`: also a machine that loses power. `process`: `kill -9` of this server at any
 * instruction; the last few of these may be missing after a power cut, never torn.
 */
export type Durability = 'power' | 'process'

export interface Store {
  readonly dialect: Dialect
  /** Reads of one moment. Waits for no writer, except for what was promised. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /**
   * Commits when `work` resolves, rolls back when it rejects, and resolves or rejects after that. `work` awaits nothing but this
   * transaction, and may be run again from its beginning when PostgreSQL asks for that (deadlock, serialization). A statement
   * that fails dooms its transaction, also when the error is caught. The default durability is `power`.
   */
  write<T>(work: (transaction: Transaction) => Promise<T>, durability?: Durability): Promise<T>
  /** Somebody is told of this write before it is committed: whoever reads from now on reads after it. It must not read itself. */
  promise(write: Promise<unknown>): void
  close(): Promise<void>
}
