/**
 * Makes a store end in order, and keep its word: what has begun is finished, what comes later is told, and what was promised is read.
 *
 * Stands beside the flow; both engines are wrapped in it.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Sql, Store } from './store.ts'

/** `name` is what messages call the database. Closing twice is fine. */
export function closable(name: string, store: Omit<Store, 'promise'>): Store {
  const promised = new Set<Promise<unknown>>()
  let runningCount = 0
  let isClosed = false
  let closing: Promise<void> | null = null
  let lastIsDone: (() => void) | null = null

  async function counted<T>(begin: () => Promise<T>): Promise<T> {
    if (isClosed) throw new HoldfastError('store_unavailable', `the database ${name} is closed; nothing was changed`)
    runningCount++
    try {
      return await begin()
    } finally {
      if (--runningCount === 0) lastIsDone?.()
    }
  }

  async function read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    if (promised.size > 0) await Promise.allSettled(promised)
    return store.read(work)
  }

  async function finish(): Promise<void> {
    if (promised.size > 0) await Promise.allSettled(promised)
    isClosed = true
    if (runningCount > 0) await new Promise<void>((resolve) => (lastIsDone = resolve))
    await store.close()
  }

  return {
    dialect: store.dialect,
    read: (work) => counted(() => read(work)),
    write: (work, durability) => counted(() => store.write(work, durability)),
    promise(write) {
      promised.add(write)
      const kept = () => promised.delete(write)
      write.then(kept, kept)
    },
    close: () => (closing ??= finish()),
  }
}
