/**
 * Definitions that were read, kept until any of them changes: a request that names one asks the store once, not every time.
 *
 * A change on this server clears the cache when it commits. Changes on other servers are seen by polling one counter; while the
 * counter cannot be read nothing is kept, so that no server works on with what may be out of date.
 */
import type { Store } from '../../store/store.ts'
import { definitionChanges } from '../../store/tables/definitions.ts'

const MAXIMUM_ENTRIES = 4_096
const POLL_MS = 1_000

export interface DefinitionCache {
  /** What is not found is not kept. */
  recall<T extends object>(key: string, load: () => Promise<T | null>): Promise<T | null>
  clear(): void
  /** Drops everything if another server changed something. Resolves when that is known. */
  poll(): Promise<void>
  close(): void
}

export function createDefinitionCache(store: Store): DefinitionCache {
  const kept = new Map<string, object>()
  let epoch = 0
  let seen: number | null = null

  function clear(): void {
    epoch += 1
    kept.clear()
  }

  async function poll(): Promise<void> {
    try {
      const count = await store.read(definitionChanges)
      if (count !== seen) clear()
      seen = count
    } catch {
      clear()
      seen = null
    }
  }

  // A SQLite database has one server, which knows of every change.
  let polling = false
  const timer =
    store.dialect === 'sqlite'
      ? null
      : setInterval(() => {
          if (polling) return
          polling = true
          void poll().finally(() => (polling = false))
        }, POLL_MS)
  timer?.unref()

  return {
    async recall<T extends object>(key: string, load: () => Promise<T | null>) {
      const known = kept.get(key)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a key names the kind of what is kept for it
      if (known !== undefined) return known as T
      const before = epoch
      const found = await load()
      // What changed while it was read may be out of date already.
      if (found === null || epoch !== before) return found
      if (kept.size >= MAXIMUM_ENTRIES) kept.clear()
      kept.set(key, found)
      return found
    },
    clear,
    poll,
    close() {
      if (timer !== null) clearInterval(timer)
    },
  }
}
