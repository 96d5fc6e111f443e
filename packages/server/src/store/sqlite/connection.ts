/**
 * One SQLite connection: statements prepared once per text, values bound exactly.
 *
 * Stands beside the flow. Everything here is synchronous and throws what SQLite throws; whoever runs a transaction turns that into
 * a `HoldfastError`.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Row, SqlValue } from '../store.ts'
import { refuseUnstorable } from '../storable.ts'

/** Texts are constants of the code, but lists of ids make some of them vary. */
const MAX_PREPARED = 500
/** Such a wait stops the whole process. Writers wait in their own way; readers meet a lock only for moments, while a log is repaired. */
const BUSY_TIMEOUT_MS = { read: 20, write: 0 } as const

/** What frames a transaction, or one job within it. */
type Frame = 'BEGIN' | 'BEGIN IMMEDIATE' | 'COMMIT' | 'ROLLBACK' | 'SAVEPOINT job' | 'RELEASE job' | 'ROLLBACK TO job'

export interface Connection {
  /** Common to the connections of one store. */
  readonly origin: object
  /** False also after SQLite itself gave up the whole transaction, as it may when the disk is full. */
  readonly isInTransaction: boolean
  /** For what is said once; several statements may be given at once. */
  exec(text: string): void
  /** Prepared like the statements between: it stands before and after each of them. */
  frame(text: Frame): void
  all(text: string, values: readonly SqlValue[]): readonly Row[]
  get(text: string, values: readonly SqlValue[]): Row | undefined
  run(text: string, values: readonly SqlValue[]): number
  close(): void
}

export function openConnection(path: string, access: 'read' | 'write', origin: object = {}): Connection {
  const database = new DatabaseSync(path, {
    readOnly: access === 'read',
    timeout: BUSY_TIMEOUT_MS[access],
    enableForeignKeyConstraints: true,
  })
  // What a savepoint keeps for a rollback would otherwise go to a file.
  database.exec('PRAGMA temp_store = MEMORY')
  const prepared = new Map<string, StatementSync>()

  function prepare(text: string): StatementSync {
    const known = prepared.get(text)
    if (known !== undefined) return known
    const statement = database.prepare(text)
    if (prepared.size >= MAX_PREPARED) for (const oldest of prepared.keys().take(1)) prepared.delete(oldest)
    prepared.set(text, statement)
    return statement
  }

  return {
    origin,
    get isInTransaction() {
      return database.isTransaction
    },
    exec: (text) => database.exec(text),
    frame: (text) => void prepare(text).run(),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- bigints come only when asked for
    all: (text, values) => prepare(text).all(...bindable(values)) as Row[],
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- bigints come only when asked for
    get: (text, values) => prepare(text).get(...bindable(values)) as Row | undefined,
    run: (text, values) => Number(prepare(text).run(...bindable(values)).changes),
    close: () => database.close(),
  }
}

/** A plain number would be bound as a floating-point one, and `? / 2` would then differ from PostgreSQL's. */
function bindable(values: readonly SqlValue[]): (SqlValue | bigint)[] {
  refuseUnstorable(values)
  return values.map((value) => (typeof value === 'number' ? BigInt(value) : value))
}
