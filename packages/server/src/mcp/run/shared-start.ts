/**
 * The start of something, for all who ask for it meanwhile: there is one at a time, and whoever leaves does not end it.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * A start may fail several times before it works or is given up. Who does not want to wait for all of that says after how many.
 */
export interface SharedStart<T> {
  /** `null`: nothing is being started. */
  readonly underWay: Promise<T> | null
  /** The one that is under way, or else this. */
  join(begin: () => Promise<T>): Promise<T>
  /** One try of it failed. */
  failed(error: Error): void
  /** Rejects with the last failure once there were so many, though others go on waiting. */
  orAfter(tries: number, start: Promise<T>): Promise<T>
}

export function sharedStart<T>(): SharedStart<T> {
  let underWay: Promise<T> | null = null
  let failures: Error[] = []
  const impatient = new Set<() => void>()

  return {
    get underWay() {
      return underWay
    },
    join(begin) {
      if (underWay !== null) return underWay
      failures = []
      const started = begin().finally(() => (underWay = null))
      underWay = started
      // Those who wait for it are told; it may be nobody any more.
      started.catch(() => undefined)
      return started
    },
    failed(error) {
      failures.push(error)
      for (const hear of impatient) hear()
    },
    async orAfter(tries, start) {
      const enough = Promise.withResolvers<never>()
      const hear = () => void (failures.length >= tries && enough.reject(failures.at(-1)))
      hear()
      impatient.add(hear)
      try {
        return await Promise.race([start, enough.promise])
      } finally {
        impatient.delete(hear)
      }
    },
  }
}
