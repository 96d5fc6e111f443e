/**
 * Who hears what a server tells without being asked.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * That a list changed is for everybody; that a resource changed for its subscribers; a log line for those who listen from its level on.
 * Anything else is for the one client whose calls are under way, or for nobody.
 */
import type { Call } from './open-call.ts'
import { concerns } from './log-levels.ts'
import type { Level } from './log-levels.ts'
import type { RpcNotification } from './message.ts'

export interface Hearer {
  readonly level: Level | null
  readonly listener: { onNotification(notification: RpcNotification): void }
}

export interface FanOutNeeds {
  readonly clients: () => Iterable<Hearer>
  /** What the server is set to. */
  readonly level: () => Level | null
  isSubscribed(client: object, uri: string): boolean
  underWay(): Iterable<Call>
}

export function createFanOut({ clients, level, isSubscribed, underWay }: FanOutNeeds): { tell(notification: RpcNotification): void } {
  function* concerned({ method, params }: RpcNotification): Generator<Hearer, void, void> {
    if (method === 'notifications/message') {
      for (const client of clients()) if (concerns(client.level, level(), params?.['level'])) yield client
      return
    }
    if (method === 'notifications/resources/updated') {
      const uri = params?.['uri']
      for (const client of clients()) if (typeof uri === 'string' && isSubscribed(client, uri)) yield client
      return
    }
    if (method.endsWith('/list_changed')) return yield* clients()
    const callers = new Set([...underWay()].map(({ client }) => client).filter((client) => client !== null))
    if (callers.size !== 1) return
    for (const client of clients()) if (callers.has(client)) yield client
  }

  return {
    tell(notification) {
      for (const { listener } of concerned(notification)) listener.onNotification(notification)
    },
  }
}
