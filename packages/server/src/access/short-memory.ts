/**
 * Answers of the store, remembered for some seconds, so that not every request has to ask.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * What is forgotten is gone at once: an answer that was already on its way when something was forgotten is handed on, but
 * not remembered. That nothing was found is never remembered either.
 */

export interface ShortMemory<T> {
  recall(key: string, load: () => Promise<T | null>): Promise<T | null>
  forget(key: string): void
  forgetAll(): void
}

export interface ShortMemoryNeeds {
  readonly clock: () => number
  readonly lifeMs: number
  /** The longest untouched makes room. */
  readonly limit: number
}

export function shortMemory<T>({ clock, lifeMs, limit }: ShortMemoryNeeds): ShortMemory<T> {
  const remembered = new Map<string, { readonly value: T; readonly since: number }>()
  let forgotten = 0
  return {
    async recall(key, load) {
      const entry = remembered.get(key)
      remembered.delete(key)
      // A clock that was set back must not make anything last longer.
      if (entry !== undefined && clock() >= entry.since && clock() < entry.since + lifeMs) {
        remembered.set(key, entry)
        return entry.value
      }
      const [since, before] = [clock(), forgotten]
      const value = await load()
      if (value === null || forgotten !== before) return value
      remembered.set(key, { value, since })
      const oldest = remembered.keys().next()
      if (remembered.size > limit && oldest.done !== true) remembered.delete(oldest.value)
      return value
    },
    forget(key) {
      forgotten += 1
      remembered.delete(key)
    },
    forgetAll() {
      forgotten += 1
      remembered.clear()
    },
  }
}
