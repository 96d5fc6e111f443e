/**
 * Subscriptions to a server's resources, counted: the first client's is made, the last one's is ended, and all in between only counted.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Reply } from './message.ts'

export interface CountedSubscriptions {
  /** How many resources are subscribed to. */
  readonly size: number
  subscribe(client: object, uri: string): Promise<Reply>
  unsubscribe(client: object, uri: string): Promise<Reply>
  isSubscribed(client: object, uri: string): boolean
  /** The client is gone. */
  release(client: object): void
}

interface Subscription {
  readonly clients: Set<object>
  readonly made: Promise<Reply>
}

export interface SubscriptionNeeds {
  subscribe(uri: string): Promise<Reply>
  unsubscribe(uri: string): Promise<Reply>
  readonly maximumPerClient: number
}

const DONE: Reply = { result: {} }

export function countedSubscriptions({ subscribe, unsubscribe, maximumPerClient }: SubscriptionNeeds): CountedSubscriptions {
  const byUri = new Map<string, Subscription>()
  const byClient = new Map<object, Set<string>>()

  function forget(client: object, uri: string): Subscription | null {
    const uris = byClient.get(client)
    uris?.delete(uri)
    if (uris?.size === 0) byClient.delete(client)
    const subscription = byUri.get(uri)
    if (subscription?.clients.delete(client) !== true || subscription.clients.size > 0) return null
    byUri.delete(uri)
    return subscription
  }

  return {
    get size() {
      return byUri.size
    },
    async subscribe(client, uri) {
      const uris = byClient.get(client) ?? new Set()
      if (!uris.has(uri) && uris.size >= maximumPerClient)
        throw new HoldfastError('capacity_exhausted', `this client is subscribed to ${uris.size} resources already`)
      byClient.set(client, uris.add(uri))
      const found = byUri.get(uri)
      const subscription = found ?? { clients: new Set(), made: subscribe(uri) }
      if (found === undefined) byUri.set(uri, subscription)
      subscription.clients.add(client)
      try {
        const reply = await subscription.made
        if ('error' in reply) forget(client, uri)
        return reply
      } catch (error) {
        forget(client, uri)
        throw error
      }
    },
    async unsubscribe(client, uri) {
      return forget(client, uri) === null ? DONE : unsubscribe(uri)
    },
    isSubscribed: (client, uri) => byClient.get(client)?.has(uri) === true,
    release(client) {
      for (const uri of byClient.get(client) ?? []) if (forget(client, uri) !== null) unsubscribe(uri).catch(() => {})
    },
  }
}
