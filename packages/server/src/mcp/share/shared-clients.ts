/**
 * The clients of one shared server: what each asks for, what it hears, and what is undone when it leaves.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Asking } from './asking.ts'
import type { Calls } from './calls.ts'
import { countedSubscriptions } from './counted-subscriptions.ts'
import type { Dialect } from './dialect.ts'
import type { Hearer } from './fan-out.ts'
import type { ShareLimits } from './limits.ts'
import { isLevel, lowest } from './log-levels.ts'
import type { Level } from './log-levels.ts'
import { parsedMembers } from './large-json.ts'
import { INVALID_PARAMS } from './message.ts'
import type { JsonObject, Reply, RpcNotification } from './message.ts'
import type { CallOptions } from './open-call.ts'

/** Who a client is, and where it is told what it did not ask for: at once, so whoever is slow keeps its own queue. */
export interface ClientListener {
  readonly info: JsonObject
  readonly capabilities: JsonObject
  /** From which level on it wants to see log lines; `null`: as the server likes. */
  readonly level?: Level | null
  onNotification(notification: RpcNotification): void
}

export interface SharedClient {
  /** Rejects with `request_cancelled`, `mcp_request_timed_out`, `mcp_message_too_large`, `capacity_exhausted`, or why the server is over. */
  request(message: { readonly method: string; readonly params?: JsonObject | undefined }, options?: CallOptions): Promise<Reply>
  notify(message: { readonly method: string; readonly params?: JsonObject | undefined }): Promise<void>
  /** Takes back its calls and its subscriptions. Again is fine. */
  close(): void
}

export interface SharedClients {
  readonly size: number
  readonly subscriptions: number
  /** What the server is set to; `null`: nobody ever asked. */
  readonly level: Level | null
  all(): Iterable<Hearer>
  find(client: object): ClientListener | undefined
  isSubscribed(client: object, uri: string): boolean
  connect(listener: ClientListener): SharedClient
  closeAll(): void
}

export interface SharedClientsNeeds {
  readonly calls: Pick<Calls, 'call' | 'leave'>
  readonly asking: Asking
  readonly ready: Promise<{ readonly dialect: Dialect }>
  readonly limits: ShareLimits
  notify(method: string, params?: JsonObject): Promise<void>
}

interface Connected extends Hearer {
  level: Level | null
  readonly listener: ClientListener
}

const DONE: Reply = { result: {} }
const MAXIMUM_URI = 8_192
const NO_URI = `uri: must be text of at most ${MAXIMUM_URI} characters`
/** What the server was told once is not told again, and what concerns one client of many is not for it. */
const KEPT: ReadonlySet<string> = new Set(['notifications/initialized', 'notifications/cancelled', 'notifications/roots/list_changed'])

export function createSharedClients({ calls, asking, ready, limits, notify }: SharedClientsNeeds): SharedClients {
  const clients = new Map<object, Connected>()
  const subscriptions = countedSubscriptions({
    subscribe: async (uri) => (await ready).dialect.subscribe(uri),
    unsubscribe: async (uri) => (await ready).dialect.unsubscribe(uri),
    maximumPerClient: limits.subscriptionsPerClient,
  })
  let setTo: Level | null = null

  /** Only what changes is told; without anybody left who asked, it stays. */
  async function settleLevel(): Promise<Reply> {
    const wanted = lowest(clients.values().map(({ level }) => level))
    if (wanted === null || wanted === setTo) return DONE
    const { dialect } = await ready
    const before = setTo
    setTo = wanted
    const reply = await dialect.setLevel(wanted)
    if ('error' in reply) setTo = before
    return reply
  }

  const special: Readonly<Record<string, (client: Connected, params: JsonObject) => Promise<Reply>>> = {
    async 'logging/setLevel'(client, { level }) {
      if (!isLevel(level)) return invalid('level: must be one of the levels of RFC 5424')
      client.level = level
      return settleLevel()
    },
    'resources/subscribe': async (client, { uri }) => (isUri(uri) ? subscriptions.subscribe(client, uri) : invalid(NO_URI)),
    'resources/unsubscribe': async (client, { uri }) => (isUri(uri) ? subscriptions.unsubscribe(client, uri) : invalid(NO_URI)),
  }

  function connect(listener: ClientListener): SharedClient {
    if (clients.size >= limits.clients)
      throw new HoldfastError('capacity_exhausted', `${clients.size} clients share this MCP server already`)
    const client: Connected = { level: listener.level ?? null, listener }
    clients.set(client, client)
    if (client.level !== null) settleLevel().catch(() => {})

    return {
      async request({ method, params }, options = {}) {
        const { dialect } = await ready
        if (!clients.has(client)) throw new HoldfastError('request_cancelled', 'the client has left')
        const handle = Object.hasOwn(special, method) ? special[method] : undefined
        if (handle !== undefined) return handle(client, params ?? {})
        const { info, capabilities } = listener
        const dress: Parameters<Calls['call']>[0]['dress'] = (plain, token) =>
          dialect.dress(plain, { info, capabilities, level: client.level }, token)
        const reply = await calls.call({ client, method, params, dress, options })
        // Tools are chosen from the list by name.
        return method === 'tools/list' && 'result' in reply ? { result: parsedMembers(reply.result) } : reply
      },
      async notify({ method, params }) {
        if (KEPT.has(method) || !clients.has(client)) return
        // Progress is of what the server asked this client, and of nothing else.
        if (method === 'notifications/progress' && !asking.isAsked(client)) return
        await ready
        await notify(method, params)
      },
      close() {
        if (!clients.delete(client)) return
        calls.leave(client)
        subscriptions.release(client)
        if (client.level !== null) settleLevel().catch(() => {})
      },
    }
  }

  return {
    get size() {
      return clients.size
    },
    get subscriptions() {
      return subscriptions.size
    },
    get level() {
      return setTo
    },
    all: () => clients.values(),
    find: (client) => clients.get(client)?.listener,
    isSubscribed: subscriptions.isSubscribed,
    connect,
    closeAll() {
      clients.clear()
    },
  }
}

/** It is remembered for as long as its client is there. */
function isUri(uri: unknown): uri is string {
  return typeof uri === 'string' && uri.length <= MAXIMUM_URI
}

function invalid(message: string): Reply {
  return { error: { code: INVALID_PARAMS, message } }
}
