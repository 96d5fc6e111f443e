/**
 * One after the other within a session, for tools that read something and then write it: models call several at once.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
export interface SessionTurns {
  /** Waits for the work before it, also for work that failed. */
  take<T>(sessionId: string, work: () => Promise<T>): Promise<T>
}

export function createSessionTurns(): SessionTurns {
  const last = new Map<string, Promise<unknown>>()
  return {
    async take(sessionId, work) {
      const before = last.get(sessionId) ?? Promise.resolve()
      const mine = before.then(work, work)
      last.set(sessionId, mine)
      try {
        return await mine
      } finally {
        if (last.get(sessionId) === mine) last.delete(sessionId)
      }
    },
  }
}
