/**
 * The store on PostgreSQL: for several servers that share their sessions.
 *
 * Stands beside the flow. Broken connections are dropped, so that a database that comes back is used again without a restart.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ClientConfig } from 'pg'
import { performAll } from '../after-commit.ts'
import { unobserved } from '../../telemetry/observations.ts'
import type { StoreObserver } from '../../telemetry/observations.ts'
import { closable } from '../closable.ts'
import type { Durability, Store, Transaction } from '../store.ts'
import { createNumbering } from './numbered.ts'
import { openPool } from './pool.ts'
import { attempt, type AttemptNeeds } from './attempt.ts'

/** Enough for any deadlock among works that end; more would hide a bug. */
const MAX_TRIES = 10
const PAUSE_MS = 2

/** Both are said, because the server's own default may be either. */
const BEGIN: Readonly<Record<Durability, string>> = {
  power: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on',
  process: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = off',
}
const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** Nothing is connected before the first use. */
export async function openPostgresStore(address: string | ClientConfig, observer: StoreObserver = unobserved): Promise<Store> {
  const { pool, place } = await openPool(address)
  observer.poolOpened(() => ({ used: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }))
  const needs: TransactNeeds = { pool, place, numbering: createNumbering(), onRetry: observer.transactionRetried }
  return closable(place, {
    dialect: 'postgres',
    read: (work) => transact(needs, BEGIN_READ, work),
    write: (work, durability = 'power') => transact(needs, BEGIN[durability], work),
    close: () => pool.end(),
  })
}

interface TransactNeeds extends AttemptNeeds {
  readonly onRetry: () => void
}

/** Runs the work again from its beginning when PostgreSQL took it back because of others. */
async function transact<T>(needs: TransactNeeds, begin: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const outcome = await attempt(needs, begin, work)
    if (outcome.isKept) {
      performAll(outcome.actions)
      return outcome.value
    }
    if (tries >= MAX_TRIES) throw outcome.failure
    await delay(tries * PAUSE_MS)
    needs.onRetry()
  }
}
