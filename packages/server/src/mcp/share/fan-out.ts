/**
 * Who hears what a server tells without being asked.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * That a list changed is for everybody; that a resource changed for its subscribers; a log line for those who listen from its level on, as
 * long as all are of one conversation. Anything else is for the one client whose calls the server is at, or for nobody.
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
  sole(): Call | null
  /** What it logs may be of somebody's call, and others are not to read it. */
  readonly keepsLogsApart: boolean
}

export function createFanOut(needs: FanOutNeeds): { tell(notification: RpcNotification): void } {
  const { clients, level, isSubscribed, sole, keepsLogsApart } = needs

  function* alone(): Generator<Hearer, void, void> {
    const client = sole()?.client ?? null
    for (const found of clients()) if (found === client) yield found
  }

  function* concerned({ method, params }: RpcNotification): Generator<Hearer, void, void> {
    if (method === 'notifications/message') {
      for (const client of keepsLogsApart ? alone() : clients()) if (concerns(client.level, level(), params?.['level'])) yield client
      return
    }
    if (method === 'notifications/resources/updated') {
      const uri = params?.['uri']
      for (const client of clients()) if (typeof uri === 'string' && isSubscribed(client, uri)) yield client
      return
    }
    yield* method.endsWith('/list_changed') ? clients() : alone()
  }

  return {
    tell(notification) {
      for (const { listener } of concerned(notification)) listener.onNotification(notification)
    },
  }
}
