/**
 * The statements of one transaction on a PostgreSQL connection, one after the other.
 *
 * Stands beside the flow. Holds always: after a statement failed nothing of this transaction is kept, even when the work swallows the
 * error, and a transaction that is over runs no statement.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { PoolClient, QueryResult } from 'pg'
import { refuseUnstorable } from '../storable.ts'
import type { Row, SqlValue, Transaction } from '../store.ts'
import type { NumberedText } from './numbered.ts'
import { fromPostgresError } from './postgres-error.ts'

export interface Scope {
  readonly transaction: Transaction
  readonly actions: readonly (() => void)[]
  /** Waits for the statement that may still run, and lets no other one follow; gives what the first failed one met. */
  end(): Promise<HoldfastError | null>
}

interface Needs {
  readonly client: PoolClient
  readonly place: string
  readonly numbering: (text: string) => NumberedText
}

export function openScope({ client, place, numbering }: Needs): Scope {
  const actions: (() => void)[] = []
  let failure: HoldfastError | null = null
  let isOver = false
  let last: Promise<unknown> = Promise.resolve()

  async function perform(text: string, values: readonly SqlValue[]): Promise<QueryResult<Row>> {
    if (isOver) throw new HoldfastError('internal', 'a statement came after the end of its transaction; it was not run')
    const before = last
    const turn = Promise.withResolvers<void>()
    last = turn.promise
    try {
      await before
      if (failure !== null) throw failure
      refuseUnstorable(values)
      return await client.query<Row>({ ...numbering(text), values: [...values] })
    } catch (error) {
      failure ??= fromPostgresError(error, place)
      throw failure
    } finally {
      turn.resolve()
    }
  }

  const transaction: Transaction = {
    dialect: 'postgres',
    forUpdate: 'FOR NO KEY UPDATE',
    origin: numbering,
    all: async (text, ...values) => (await perform(text, values)).rows,
    get: async (text, ...values) => (await perform(text, values)).rows[0],
    run: async (text, ...values) => (await perform(text, values)).rowCount ?? 0,
    afterCommit: (action) => void actions.push(action),
  }
  return {
    transaction,
    actions,
    async end() {
      isOver = true
      await last
      return failure
    },
  }
}
