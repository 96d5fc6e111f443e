/**
 * The store: how long transactions take, how often they meet somebody else's, how full the pool is.
 *
 * Stands beside the flow.
 */
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { PoolUse, StoreObserver } from '../observations.ts'
import { TRANSACTION_SECONDS } from './buckets.ts'

export function storeMetrics(registry: Registry): StoreObserver {
  const registers = [registry]
  const transactions = new Histogram({
    name: 'holdfast_store_transaction_duration_seconds',
    help: 'Transactions, with the wait for their turn and, of a write, for its commit.',
    labelNames: ['kind'],
    buckets: TRANSACTION_SECONDS,
    registers,
  })
  const series = { read: transactions.labels('read'), write: transactions.labels('write') }
  const retries = new Counter({
    name: 'holdfast_store_retries_total',
    help: 'Transactions that were tried again because another process or transaction was in the way.',
    registers,
  })
  let pool: (() => PoolUse) | null = null
  const connections: Gauge<'state'> = new Gauge({
    name: 'holdfast_store_connections',
    help: 'Connections to PostgreSQL; waiting: transactions that have none yet. Absent on SQLite.',
    labelNames: ['state'],
    registers,
    collect() {
      if (pool === null) return
      const use = pool()
      for (const state of ['used', 'idle', 'waiting'] as const) connections.set({ state }, use[state])
    },
  })
  return {
    transactionEnded: (kind, seconds) => series[kind].observe(seconds),
    transactionRetried: () => retries.inc(),
    poolOpened(use) {
      pool = use
    },
  }
}
