/**
 * How a server of either era is spoken to: whose call it is, from which level it logs, which resources are watched.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * To one of before, all clients are one, and levels and subscriptions are requests. One of 2026-07-28 is told with each request who
 * asks and from which level to log, and what changes it tells on one open `subscriptions/listen`.
 */
import { enveloped, SUBSCRIPTION_ID_KEY } from './envelope.ts'
import type { Identity } from './envelope.ts'
import type { Handshake } from './handshake.ts'
import type { Level } from './log-levels.ts'
import { isObject, metaOf } from './message.ts'
import type { JsonObject, Reply, RpcNotification } from './message.ts'

export interface Dialect {
  dress(params: JsonObject | undefined, identity: Identity, progressToken: number | undefined): JsonObject | undefined
  setLevel(level: Level): Promise<Reply>
  subscribe(uri: string): Promise<Reply>
  unsubscribe(uri: string): Promise<Reply>
  /** The notification as clients may see it; `null`: it is not for them. */
  heard(notification: RpcNotification): RpcNotification | null
}

export interface DialectNeeds {
  readonly handshake: Handshake
  request(method: string, params: JsonObject): Promise<Reply>
  /** Opens something that is answered when it is over, and gives its id. */
  open(method: string, params: JsonObject): number
  cancel(id: number): void
  readonly self: Identity
}

const DONE: Reply = { result: {} }

export function legacyDialect({ request }: DialectNeeds): Dialect {
  return {
    dress: (params, _identity, token) => withToken(params, token),
    setLevel: (level) => request('logging/setLevel', { level }),
    subscribe: (uri) => request('resources/subscribe', { uri }),
    unsubscribe: (uri) => request('resources/unsubscribe', { uri }),
    heard: (notification) => notification,
  }
}

export function modernDialect({ handshake: { capabilities }, open, cancel, self }: DialectNeeds): Dialect {
  const uris = new Set<string>()
  const changes = {
    ...(offers(capabilities, 'tools', 'listChanged') ? { toolsListChanged: true } : {}),
    ...(offers(capabilities, 'prompts', 'listChanged') ? { promptsListChanged: true } : {}),
    ...(offers(capabilities, 'resources', 'listChanged') ? { resourcesListChanged: true } : {}),
  }
  /** The newest is heard from its acknowledgement on; until then the one before it, so that nothing is missed or told twice. */
  let heardId: number | null = null
  let newestId: number | null = null

  function listen(): void {
    const before = newestId
    const notifications = { ...changes, ...(uris.size === 0 ? {} : { resourceSubscriptions: [...uris] }) }
    newestId = Object.keys(notifications).length === 0 ? null : open('subscriptions/listen', enveloped({ notifications }, self))
    if (before !== null && before !== heardId) cancel(before)
    if (newestId === null) acknowledged(null)
  }

  function acknowledged(id: number | null): void {
    if (heardId !== null && heardId !== id) cancel(heardId)
    heardId = id
  }

  listen()
  return {
    dress: (params, identity, token) => enveloped(withToken(params, token), identity),
    setLevel: async () => DONE,
    async subscribe(uri) {
      uris.add(uri)
      listen()
      return DONE
    },
    async unsubscribe(uri) {
      uris.delete(uri)
      listen()
      return DONE
    },
    heard(notification) {
      const { [SUBSCRIPTION_ID_KEY]: id, ...meta } = metaOf(notification.params)
      if (notification.method === 'notifications/subscriptions/acknowledged') {
        if (id === newestId) acknowledged(newestId)
        return null
      }
      if (id === undefined) return notification
      if (id !== heardId) return null
      const { _meta: _, ...params } = notification.params ?? {}
      return { ...notification, params: Object.keys(meta).length === 0 ? params : { ...params, _meta: meta } }
    },
  }
}

/** A token of the caller's is never passed on. */
function withToken(params: JsonObject | undefined, token: number | undefined): JsonObject | undefined {
  if (token === undefined) return params
  return { ...params, _meta: { ...metaOf(params), progressToken: token } }
}

function offers(capabilities: JsonObject, feature: string, what: string): boolean {
  const offered = capabilities[feature]
  return isObject(offered) && offered[what] === true
}
