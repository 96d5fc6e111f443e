/**
 * One client up to 2025-11-25, from its `initialize` to its end: its calls, what it is asked, and what waits for its stream.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * The server behind it may end and come back; the session then takes the new one up, with its level and its subscriptions.
 */
import { INTERNAL_ERROR, isId, notificationText, requestText, toldText } from '../../../mcp/share/message.ts'
import type { JsonObject, Reply, RpcAnswer, RpcId } from '../../../mcp/share/message.ts'
import type { AskClient } from '../../../mcp/share/open-call.ts'
import type { SharedClient } from '../../../mcp/share/shared-clients.ts'
import type { Exchange } from './exchange.ts'
import type { GatewayTarget, OpenedServer } from './gateway-visit.ts'
import type { Outbox } from './outbox.ts'

export interface LegacyIdentity {
  readonly info: JsonObject
  readonly capabilities: JsonObject
}

const UNREAD: Reply = { error: { code: INTERNAL_ERROR, message: 'the client does not read what it is asked' } }

/** Whose it is. */
export type LegacyHolder = Pick<GatewayTarget, 'visitor' | 'holder'>

/** That are asked for again when the server comes back. */
const MAXIMUM_SUBSCRIBED = 1024

export class LegacySession {
  readonly id: string
  readonly holder: string
  readonly visitor: string
  readonly outbox: Outbox
  readonly #identity: LegacyIdentity
  readonly #calls = new Map<RpcId, Exchange>()
  readonly #asked = new Map<RpcId, (reply: Reply) => void>()
  readonly #subscribed = new Set<string>()
  #level: unknown = null
  #lastAsk = 0
  #server: OpenedServer['server'] | null = null
  #client: SharedClient | null = null
  #recheck: OpenedServer['recheck']
  #reader: AbortController | null = null
  #isOver = false

  constructor(id: string, { holder, visitor }: LegacyHolder, identity: LegacyIdentity, outbox: Outbox) {
    this.id = id
    this.holder = holder
    this.visitor = visitor
    this.#identity = identity
    this.outbox = outbox
  }

  get isBusy(): boolean {
    return this.#calls.size > 0 || this.#reader !== null
  }

  /** Its hold on this server, which may be another one than the last time. */
  clientOf({ server, recheck }: OpenedServer): SharedClient {
    this.#recheck = recheck
    if (this.#client !== null && this.#server === server) return this.#client
    this.#client?.close()
    const client = server.connect({
      ...this.#identity,
      onNotification: (notification) => void this.outbox.tell(toldText(notification)),
    })
    this.#server = server
    this.#client = client
    if (this.#isOver) client.close()
    // Whether it can be had again is the server's to know; the client hears of changes or does not.
    if (this.#level !== null) client.request({ method: 'logging/setLevel', params: { level: this.#level } }).catch(() => {})
    for (const uri of this.#subscribed) client.request({ method: 'resources/subscribe', params: { uri } }).catch(() => {})
    return client
  }

  /** Throws when whoever opened it may not use the server any more. */
  async recheck(): Promise<void> {
    await this.#recheck?.()
  }

  /** Remembers what has to be said again to a new server. */
  settled(method: string, { level, uri }: JsonObject, reply: Reply): void {
    if ('error' in reply) return
    if (method === 'logging/setLevel') this.#level = level
    if (method === 'resources/subscribe' && typeof uri === 'string' && this.#subscribed.size < MAXIMUM_SUBSCRIBED) this.#subscribed.add(uri)
    if (method === 'resources/unsubscribe' && typeof uri === 'string') this.#subscribed.delete(uri)
  }

  /** Until `end` the client may cancel it. */
  begin(id: RpcId, exchange: Exchange): { end(): void } {
    this.#calls.set(id, exchange)
    return { end: () => void (this.#calls.get(id) === exchange && this.#calls.delete(id)) }
  }

  cancelled(params: JsonObject | undefined): void {
    const requestId = params?.['requestId']
    if (isId(requestId)) this.#calls.get(requestId)?.leave()
  }

  /** Carries questions of the server to the client, on the answer to the call that they belong to. */
  asker(exchange: Exchange): AskClient {
    return ({ method, params }, signal) => {
      const id = `ask-${(this.#lastAsk += 1)}`
      const answer = Promise.withResolvers<Reply>()
      const takeBack = () => {
        exchange.tell(notificationText({ method: 'notifications/cancelled', params: { requestId: id } }))
        answer.resolve({ error: { code: INTERNAL_ERROR, message: 'the question was taken back' } })
      }
      this.#asked.set(id, answer.resolve)
      signal.addEventListener('abort', takeBack, { once: true })
      if (!exchange.tell(requestText(id, method, params))) answer.resolve(UNREAD)
      return answer.promise.finally(() => {
        signal.removeEventListener('abort', takeBack)
        this.#asked.delete(id)
      })
    }
  }

  /** What is no answer to a question of ours is nothing. */
  answered({ id, reply }: RpcAnswer): void {
    this.#asked.get(id)?.(reply)
  }

  /** There is one reader at a time: who comes back is the one to go on. */
  read(): { readonly replaced: AbortSignal; end(): void } {
    this.#reader?.abort()
    const reader = new AbortController()
    this.#reader = reader
    return {
      replaced: reader.signal,
      end: () => {
        if (this.#reader !== reader) return
        this.#reader = null
        if (this.#isOver) this.outbox.discard()
      },
    }
  }

  async notify(method: string, params: JsonObject | undefined): Promise<void> {
    await this.#client?.notify({ method, params })
  }

  close(): void {
    this.#isOver = true
    for (const exchange of this.#calls.values()) exchange.leave()
    this.#client?.close()
    if (this.#reader === null) this.outbox.discard()
    else this.outbox.end()
  }
}
