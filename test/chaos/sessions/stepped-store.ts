/**
 * A real store that tells its commits as steps: one before each, one after it and before anybody learns of it.
 */
import type { Store, Transaction } from '../../../packages/server/src/store/store.ts'
import type { Steps } from './steps.ts'

export function steppedStore(store: Store, steps: Steps): Store {
  return {
    dialect: store.dialect,
    read: (work) => store.read(work),
    write: (work, durability) =>
      store.write(async (transaction) => {
        const written: string[] = []
        const tell = (when: string) => {
          if (written.length > 0) steps.tell(`${when} the commit of ${written.join(', ')}`)
        }
        transaction.afterCommit(() => tell('after'))
        const result = await work(noting(transaction, written))
        tell('before')
        return result
      }, durability),
    promise: store.promise,
    close: () => store.close(),
  }
}

function noting(transaction: Transaction, written: string[]): Transaction {
  const note = (text: string) => {
    const [, verb, table = ''] = /^\s*(INSERT|UPDATE|DELETE)(?: INTO| FROM)? (\w+)/.exec(text) ?? []
    if (verb !== undefined) written.push(`${verb.toLowerCase()} ${table}`)
  }
  return {
    dialect: transaction.dialect,
    forUpdate: transaction.forUpdate,
    origin: transaction.origin,
    all: (text, ...values) => transaction.all(text, ...values),
    get(text, ...values) {
      note(text)
      return transaction.get(text, ...values)
    },
    run(text, ...values) {
      note(text)
      return transaction.run(text, ...values)
    },
    afterCommit: (action) => transaction.afterCommit(action),
  }
}
