/**
 * One attempt at one transaction on one connection of the pool.
 *
 * Stands beside the flow. A connection goes back to the pool only when its transaction has certainly ended.
 */
import type { HoldfastError } from '@holdfast/protocol'
import type { Pool, PoolClient } from 'pg'
import type { Transaction } from '../store.ts'
import type { NumberedText } from './numbered.ts'
import { commitUnknown, fromPostgresError, isConnectionLost, isWorthAnotherTry } from './postgres-error.ts'
import { openScope } from './postgres-scope.ts'

export interface AttemptNeeds {
  readonly pool: Pool
  /** Host and database, for messages. */
  readonly place: string
  readonly numbering: (text: string) => NumberedText
}

/** Kept, or taken back by PostgreSQL because of other transactions. */
export type Outcome<T> =
  | { readonly isKept: true; readonly value: T; readonly actions: readonly (() => void)[] }
  | { readonly isKept: false; readonly failure: HoldfastError }

/** Throws what the work threw, or what the database met, once nothing of it is left. */
export async function attempt<T>(
  { pool, place, numbering }: AttemptNeeds,
  begin: string,
  work: (transaction: Transaction) => Promise<T>,
): Promise<Outcome<T>> {
  const client = await orExplain(pool.connect(), place)
  let isUsable = false
  try {
    await orExplain(client.query(begin), place)
    const scope = openScope({ client, place, numbering })
    const [settled] = await Promise.allSettled([work(scope.transaction)])
    const failure = await scope.end()
    if (failure === null && settled.status === 'fulfilled') {
      await commit(client, place)
      isUsable = true
      return { isKept: true, value: settled.value, actions: scope.actions }
    }
    isUsable = !isConnectionLost(failure?.cause) && (await rollBack(client))
    if (failure !== null && isWorthAnotherTry(failure)) return { isKept: false, failure }
    throw settled.status === 'rejected' ? settled.reason : failure
  } finally {
    client.release(!isUsable)
  }
}

async function commit(client: PoolClient, place: string): Promise<void> {
  try {
    await client.query('COMMIT')
  } catch (error) {
    throw isConnectionLost(error) ? commitUnknown(error, place) : fromPostgresError(error, place)
  }
}

async function rollBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query('ROLLBACK')
    return true
  } catch {
    return false // the server takes it back itself when the connection is dropped
  }
}

async function orExplain<T>(answer: Promise<T>, place: string): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw fromPostgresError(error, place)
  }
}
