/**
 * Makes a store end in order: what has begun is finished, what comes later is told.
 *
 * Stands beside the flow; both engines are wrapped in it.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Store } from './store.ts'

/** `name` is what messages call the database. Closing twice is fine. */
export function closable(name: string, store: Store): Store {
  let runningCount = 0
  let closed: Promise<void> | null = null
  let lastIsDone: (() => void) | null = null

  async function counted<T>(begin: () => Promise<T>): Promise<T> {
    if (closed !== null) throw new HoldfastError('store_unavailable', `the database ${name} is closed; nothing was changed`)
    runningCount++
    try {
      return await begin()
    } finally {
      if (--runningCount === 0) lastIsDone?.()
    }
  }

  async function finish(): Promise<void> {
    if (runningCount > 0) await new Promise<void>((resolve) => (lastIsDone = resolve))
    await store.close()
  }

  return {
    dialect: store.dialect,
    read: (work) => counted(() => store.read(work)),
    write: (work, durability) => counted(() => store.write(work, durability)),
    close: () => (closed ??= finish()),
  }
}
