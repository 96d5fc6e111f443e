/**
 * A store that fails on demand: it does not answer at all, refuses chosen writes, or loses the answer to their commit.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Store, Transaction } from '../../packages/server/src/store/store.ts'

export interface StoreFaults {
  wrap(store: Store): Store
  /** While it is true every read and every write is refused. */
  isDown: boolean
  /** Fails the next `count` writes that run a matching statement: `before` nothing is kept, `after` it is kept and only the answer is lost. */
  failWrites(statement: RegExp, count: number, when: 'before' | 'after'): void
  /** How many of these failures are still to come. */
  readonly failuresLeft: number
}

export function createStoreFaults(): StoreFaults {
  let rule: { readonly statement: RegExp; count: number; readonly when: 'before' | 'after' } | null = null
  const refused = () => new HoldfastError('store_unavailable', 'the database does not answer; nothing was changed')

  const faults: StoreFaults = {
    isDown: false,
    get failuresLeft() {
      return rule?.count ?? 0
    },
    failWrites(statement, count, when) {
      rule = { statement, count, when }
    },
    wrap: (store) => ({
      dialect: store.dialect,
      promise: store.promise,
      close: () => store.close(),
      read: async (work) => {
        if (faults.isDown) throw refused()
        return store.read(work)
      },
      write: async (work, durability) => {
        if (faults.isDown) throw refused()
        const isAnswerLost = { value: false }
        const result = await store.write(async (transaction) => work(watched(transaction, isAnswerLost)), durability)
        if (!isAnswerLost.value) return result
        throw new HoldfastError('store_unavailable', 'the database was lost during a commit; it is not known whether the change was kept', {
          isOutcomeKnown: false,
        })
      },
    }),
  }

  function watched(transaction: Transaction, isAnswerLost: { value: boolean }): Transaction {
    const look = (text: string) => {
      if (rule === null || rule.count === 0 || !rule.statement.test(text)) return
      rule.count -= 1
      if (rule.when === 'before') throw refused()
      isAnswerLost.value = true
    }
    return {
      ...transaction,
      async get(text, ...values) {
        look(text)
        return transaction.get(text, ...values)
      },
      async run(text, ...values) {
        look(text)
        return transaction.run(text, ...values)
      },
      // A server that never learned of a commit does nothing that follows from it.
      afterCommit: (action) =>
        transaction.afterCommit(() => {
          if (!isAnswerLost.value) action()
        }),
    }
  }
  return faults
}
