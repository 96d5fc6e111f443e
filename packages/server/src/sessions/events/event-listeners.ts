/**
 * Who waits for events in this process: called when a transaction with an event is committed.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A call says only that there is something to read. It carries no event, so that a slow reader costs no memory.
 */

export interface EventListeners {
  /** `topic` is a tenant's or a session's id. Gives what ends it. */
  listen(topic: string, listener: () => void): () => void
  /** Told of every tenant that has new events. */
  listenToAll(listener: (tenantId: string) => void): () => void
  wake(tenantId: string, sessionId: string): void
}

export function createEventListeners(): EventListeners {
  const topics = new Map<string, Set<() => void>>()
  const all = new Set<(tenantId: string) => void>()
  return {
    listen(topic, listener) {
      const listeners = topics.get(topic) ?? new Set()
      topics.set(topic, listeners)
      // A function of its own, so that the same listener twice counts twice.
      const entry = () => listener()
      listeners.add(entry)
      return () => {
        listeners.delete(entry)
        if (listeners.size === 0 && topics.get(topic) === listeners) topics.delete(topic)
      }
    },
    listenToAll(listener) {
      const entry = (tenantId: string) => listener(tenantId)
      all.add(entry)
      return () => all.delete(entry)
    },
    wake(tenantId, sessionId) {
      for (const listener of topics.get(sessionId) ?? []) listener()
      for (const listener of topics.get(tenantId) ?? []) listener()
      for (const listener of all) listener(tenantId)
    },
  }
}
