/**
 * Clients of 2026-07-28: each request stands for itself, and says who asks.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * A server of before can serve them too: what its answers lack is filled in. A client that closes the answer has cancelled the request.
 */
import { MODERN_VERSION, SERVER_INFO_KEY, unenveloped } from '../../../mcp/share/envelope.ts'
import type { Handshake } from '../../../mcp/share/handshake.ts'
import { INVALID_PARAMS, isObject, metaOf, METHOD_NOT_FOUND, notificationText, toldText } from '../../../mcp/share/message.ts'
import type { JsonObject, Reply, RpcNotification, RpcRequest } from '../../../mcp/share/message.ts'
import type { DirectAnswer } from '../../direct-door.ts'
import { errorReply } from './error-reply.ts'
import type { Exchange, OpenExchange } from './exchange.ts'
import type { GatewayTarget, GatewayVisit } from './gateway-visit.ts'
import { done } from './json-answer.ts'
import type { ListenStreams } from './listen-streams.ts'
import { createParamHeaders, ParamHeaderMismatch } from './param-headers.ts'
import { callServer, offered, unknownMethod } from './server-call.ts'

/** Were part of the protocol before, and are not any more. */
const GONE: ReadonlySet<string> = new Set(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])
const CACHEABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
])
const RESOURCE_NOT_FOUND = -32002
const MISSING_CAPABILITY = -32021

export interface ModernDoorNeeds {
  readonly listenStreams: ListenStreams
  readonly openExchange: OpenExchange
}

export type ModernDoor = (visit: GatewayVisit, target: GatewayTarget, message: RpcRequest | RpcNotification) => Promise<DirectAnswer>

export function modernDoor({ listenStreams, openExchange }: ModernDoorNeeds): ModernDoor {
  const declared = createParamHeaders()

  async function replyTo(visit: GatewayVisit, exchange: Exchange, target: GatewayTarget, { method, params }: RpcRequest): Promise<Reply> {
    if (GONE.has(method)) return unknownMethod(method)
    const { server, tools = {} } = await target.open(exchange.left)
    const handshake = await server.initialized
    if (method === 'server/discover') return filled(method, discovered(handshake), handshake)
    const { identity, params: plain } = unenveloped(params)
    if (method === 'tools/call') await declared.check(server, plain, visit.header)
    const client = server.connect({
      ...identity,
      onNotification(notification) {
        // Of what it did not ask for, only log lines belong to a request, and only if it wants them.
        if (notification.method === 'notifications/message' && identity.level !== null) exchange.tell(toldText(notification))
      },
    })
    try {
      const onProgress = (progress: JsonObject) =>
        void exchange.tell(notificationText({ method: 'notifications/progress', params: progress }))
      const reply = await callServer(client, tools, { method, params: plain }, { signal: exchange.left, onProgress })
      if (method === 'tools/list' && 'result' in reply) declared.learn(server, reply.result)
      return filled(method, reply, handshake)
    } finally {
      client.close()
    }
  }

  return async (visit, target, message) => {
    // What a client tells belongs to a request, and is told by its end.
    if (message.kind === 'notification') return done(visit, 202)
    if (message.method === 'subscriptions/listen') return listenStreams.open(visit, target, message)
    const exchange = openExchange(visit, target, { id: message.id })
    replyTo(visit, exchange, target, message).then(
      (reply) => exchange.answer(reply, statusOf(reply)),
      (error: unknown) => {
        if (!(error instanceof ParamHeaderMismatch)) return exchange.answer(errorReply(visit, error))
        const { status, ...refused } = error.refusal
        exchange.answer({ error: refused }, status)
      },
    )
    return exchange.answered
  }
}

function discovered({ capabilities, instructions }: Handshake): Reply {
  return {
    result: {
      supportedVersions: [MODERN_VERSION],
      capabilities: offered(capabilities),
      ...(instructions === undefined ? {} : { instructions }),
    },
  }
}

/** What every answer of this era says, where the server did not. */
function filled(method: string, reply: Reply, { serverInfo }: Handshake): Reply {
  if ('error' in reply) return reply.error.code === RESOURCE_NOT_FOUND ? { error: { ...reply.error, code: INVALID_PARAMS } } : reply
  const { result } = reply
  const { resultType = 'complete', _meta: meta = {} } = result
  const isCacheable = resultType === 'complete' && CACHEABLE.has(method)
  return {
    result: {
      ...(isCacheable ? { ttlMs: 0, cacheScope: 'private' } : {}),
      ...result,
      resultType,
      _meta: isObject(meta) ? { [SERVER_INFO_KEY]: serverInfo, ...metaOf(result) } : meta,
    },
  }
}

function statusOf(reply: Reply): number {
  if ('result' in reply) return 200
  return reply.error.code === METHOD_NOT_FOUND ? 404 : reply.error.code === MISSING_CAPABILITY ? 400 : 200
}
