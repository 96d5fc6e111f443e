/**
 * Which sessions are in use by something that is no execution: a file that is read or written, a watch, a connection to a port.
 *
 * A session is suspended for its place only while nothing uses it. A use that begins meanwhile waits for the outcome, so it sees either a
 * session that stays or one that it resumes, never a sandbox that disappears under it.
 */

export interface SessionUses {
  /** Gives the function that ends this use; calling it again does nothing. Waits while the session is being suspended. */
  begin(sessionId: string): Promise<() => void>
  /** Runs `work` while nothing uses the session. `null`: it is in use, or somebody else runs such work. */
  unlessUsed<T>(sessionId: string, work: () => Promise<T>): Promise<T | null>
  isUsed(sessionId: string): boolean
}

export function createSessionUses(): SessionUses {
  const counts = new Map<string, number>()
  const exclusive = new Map<string, Promise<unknown>>()

  function end(sessionId: string): void {
    const left = (counts.get(sessionId) ?? 1) - 1
    if (left === 0) counts.delete(sessionId)
    else counts.set(sessionId, left)
  }

  return {
    async begin(sessionId) {
      for (let work = exclusive.get(sessionId); work !== undefined; work = exclusive.get(sessionId)) await work
      counts.set(sessionId, (counts.get(sessionId) ?? 0) + 1)
      let isOver = false
      return () => {
        if (!isOver) end(sessionId)
        isOver = true
      }
    },
    async unlessUsed(sessionId, work) {
      if (counts.has(sessionId) || exclusive.has(sessionId)) return null
      const done = Promise.withResolvers<void>()
      exclusive.set(sessionId, done.promise)
      try {
        return await work()
      } finally {
        exclusive.delete(sessionId)
        done.resolve()
      }
    },
    isUsed: (sessionId) => counts.has(sessionId),
  }
}
