/**
 * A store whose transactions are timed, and one whose transactions are steps of the request that asked for them.
 *
 * Stands beside the flow.
 */
import type { StoreObserver } from '../telemetry/observations.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { Store } from './store.ts'

export function timedStore(store: Store, { transactionEnded }: Pick<StoreObserver, 'transactionEnded'>): Store {
  async function timed<T>(kind: 'read' | 'write', transaction: Promise<T>, since: number): Promise<T> {
    try {
      return await transaction
    } finally {
      transactionEnded(kind, (performance.now() - since) / 1000)
    }
  }
  return {
    dialect: store.dialect,
    read: (work) => timed('read', store.read(work), performance.now()),
    write: (work, durability) => timed('write', store.write(work, durability), performance.now()),
    promise: store.promise,
    close: () => store.close(),
  }
}

/**
 * Writers of SQLite share one commit, so what one asked for may run in the turn of another: it is bound to the one who asked, and with
 * it what follows its commit.
 */
export function tracedStore(store: Store, { bind, step }: Tracing): Store {
  return {
    dialect: store.dialect,
    read(work) {
      const bound = bind(work)
      return step('store.read', () => store.read(bound))
    },
    write(work, durability) {
      const bound = bind((transaction: Parameters<typeof work>[0]) =>
        work({ ...transaction, afterCommit: (action) => transaction.afterCommit(bind(action)) }),
      )
      return step('store.write', () => store.write(bound, durability))
    },
    promise: store.promise,
    close: () => store.close(),
  }
}
