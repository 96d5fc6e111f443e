/**
 * The statements of one transaction on a SQLite connection, from its first to its last.
 *
 * Stands beside the flow. Holds always: after a statement failed nothing of this transaction is kept, even when the work swallows the
 * error, because PostgreSQL cannot do otherwise; and a transaction that is over runs no statement, since the connection belongs
 * to another one by then.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SqlValue, Transaction } from '../store.ts'
import type { Connection } from './connection.ts'
import { fromSqliteError } from './sqlite-error.ts'

export interface Scope {
  readonly transaction: Transaction
  readonly actions: readonly (() => void)[]
  /** No statement runs from here on; gives what the first failed one met. */
  end(): HoldfastError | null
}

export function openScope(connection: Connection, path: string): Scope {
  const actions: (() => void)[] = []
  let failure: HoldfastError | null = null
  let isOver = false

  async function perform<T>(statement: (text: string, values: readonly SqlValue[]) => T, text: string, values: readonly SqlValue[]) {
    if (isOver) throw new HoldfastError('internal', 'a statement came after the end of its transaction; it was not run')
    if (failure !== null) throw failure
    try {
      return statement(text, values)
    } catch (error) {
      failure = fromSqliteError(error, path)
      throw failure
    }
  }

  const transaction: Transaction = {
    dialect: 'sqlite',
    forUpdate: '',
    origin: connection.origin,
    all: (text, ...values) => perform(connection.all, text, values),
    get: (text, ...values) => perform(connection.get, text, values),
    run: (text, ...values) => perform(connection.run, text, values),
    afterCommit: (action) => void actions.push(action),
  }
  return {
    transaction,
    actions,
    end() {
      isOver = true
      return failure
    },
  }
}
