/**
 * Clients up to 2025-11-25: they begin with `initialize`, get a session id, and say it from then on.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * A client whose connection breaks has cancelled what it waited for: there is no way to come back for an answer.
 */
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import type { Handshake } from '../../../mcp/share/handshake.ts'
import { isObject, notificationText } from '../../../mcp/share/message.ts'
import type { JsonObject, Reply, RpcMessage, RpcRequest } from '../../../mcp/share/message.ts'
import type { DirectAnswer, WholeAnswer } from '../../direct-door.ts'
import { errorReply } from './error-reply.ts'
import { eventResponse } from './event-response.ts'
import type { Exchange, OpenExchange } from './exchange.ts'
import type { GatewayTarget, GatewayVisit, OpenedServer } from './gateway-visit.ts'
import { withInputs } from './input-rounds.ts'
import { done, refuse } from './json-answer.ts'
import { LegacySession } from './legacy-session.ts'
import type { LegacySessions } from './legacy-sessions.ts'
import { callServer, offered } from './server-call.ts'

export interface LegacyDoor {
  post(visit: GatewayVisit, target: GatewayTarget, message: RpcMessage): Promise<DirectAnswer>
  /** The stream of what the client did not ask for. */
  get(visit: GatewayVisit, target: GatewayTarget): Promise<DirectAnswer>
  delete(visit: GatewayVisit, target: GatewayTarget): DirectAnswer
}

export interface LegacyDoorNeeds {
  readonly sessions: LegacySessions
  readonly openExchange: OpenExchange
  readonly keepAliveMs: number
}

const NOTHING = { result: {} }
/** Of those that a client may ask for and a server may speak, the newest first. */
const VERSIONS: readonly string[] = SUPPORTED_PROTOCOL_VERSIONS

export function legacyDoor({ sessions, openExchange, keepAliveMs }: LegacyDoorNeeds): LegacyDoor {
  /** Without an answer to be given there is no session. */
  function openFor(session: LegacySession, open: () => Exchange): Exchange {
    try {
      return open()
    } catch (error) {
      sessions.end(session)
      throw error
    }
  }

  async function initialize(visit: GatewayVisit, target: GatewayTarget, { id, params = {} }: RpcRequest): Promise<DirectAnswer> {
    const { clientInfo, capabilities, protocolVersion } = params
    const session = sessions.create(target, { info: objectOf(clientInfo), capabilities: objectOf(capabilities) })
    const exchange = openFor(session, () => openExchange(visit, target, { id, headers: { 'mcp-session-id': session.id } }))
    const { end } = session.begin(id, exchange)
    const begin = async () => {
      const opened = await target.open(exchange.left)
      const handshake = await opened.server.initialized
      session.clientOf(opened)
      return initialized(handshake, protocolVersion)
    }
    begin()
      .finally(end)
      .then(
        (reply) => exchange.answer(reply),
        (error: unknown) => {
          sessions.end(session)
          exchange.answer(errorReply(visit, error))
        },
      )
    return exchange.answered
  }

  async function replyTo(
    session: LegacySession,
    opened: OpenedServer,
    { method, params }: RpcRequest,
    options: Parameters<typeof callServer>[3],
  ) {
    const { server, tools = {} } = opened
    const { era } = await server.initialized
    const client = session.clientOf(opened)
    const call = (given: JsonObject | undefined) => callServer(client, tools, { method, params: given }, options)
    const remembered = { level: params?.['level'], uri: params?.['uri'] }
    const reply = await (era === 'modern' ? withInputs(call, params, options) : call(params))
    session.settled(method, remembered, reply)
    return era === 'modern' ? asBefore(reply) : reply
  }

  function request(visit: GatewayVisit, target: GatewayTarget, session: LegacySession, message: RpcRequest): Promise<DirectAnswer> {
    const { id, method } = message
    const exchange = openExchange(visit, target, { id })
    if (method === 'ping') {
      exchange.answer(NOTHING)
      return exchange.answered
    }
    const { left: signal } = exchange
    const { end } = session.begin(id, exchange)
    const onProgress = (params: JsonObject) => void exchange.tell(notificationText({ method: 'notifications/progress', params }))
    const onRequest = session.asker(exchange)
    const options = { signal, onProgress, ...(exchange.canStream ? { onRequest } : {}) }
    target
      .open(signal)
      .then((opened) => replyTo(session, opened, message, options))
      .catch((error: unknown) => errorReply(visit, error))
      .then((reply) => exchange.answer(reply))
      .finally(end)
      .catch(() => {})
    return exchange.answered
  }

  /** Nothing is told to one who lost the conversation, and nothing is kept for it. */
  async function stillMay(session: LegacySession): Promise<void> {
    try {
      await session.recheck()
    } catch (error) {
      sessions.end(session)
      throw error
    }
  }

  /** The session that the header names, or why there is none. */
  function sessionOf(visit: GatewayVisit, { holder }: GatewayTarget): LegacySession | WholeAnswer {
    const id = visit.header('mcp-session-id')
    if (id === undefined) return refuse(visit, { status: 400, code: -32000, message: 'Bad Request: Mcp-Session-Id header is required' })
    const session = sessions.find(id, holder)
    if (session === null) return refuse(visit, { status: 404, code: -32001, message: 'Session not found' })
    const version = visit.header('mcp-protocol-version')
    if (version === undefined || VERSIONS.includes(version)) return session
    const message = `Bad Request: Unsupported protocol version: ${version.slice(0, 50)} (supported versions: ${VERSIONS.join(', ')})`
    return refuse(visit, { status: 400, code: -32000, message })
  }

  return {
    async post(visit, target, message) {
      if (message.kind === 'request' && message.method === 'initialize') return initialize(visit, target, message)
      const session = sessionOf(visit, target)
      if (!(session instanceof LegacySession)) return session
      if (message.kind === 'request') return request(visit, target, session, message)
      if (message.kind === 'answer') session.answered(message)
      else if (message.method === 'notifications/cancelled') session.cancelled(message.params)
      else session.notify(message.method, message.params).catch(() => {})
      return done(visit, 202)
    },
    async get(visit, target) {
      if (visit.header('accept')?.includes('text/event-stream') !== true)
        return refuse(visit, { status: 406, code: -32000, message: 'Not Acceptable: Client must accept text/event-stream' })
      const session = sessionOf(visit, target)
      if (!(session instanceof LegacySession)) return session
      const recheck = () => stillMay(session)
      await recheck()
      const { replaced, end } = session.read()
      return eventResponse({ outbox: session.outbox, visit, keepAliveMs, replaced, recheck, onEnd: end })
    },
    delete(visit, target) {
      const session = sessionOf(visit, target)
      if (!(session instanceof LegacySession)) return session
      sessions.end(session)
      return done(visit, 200)
    },
  }
}

/** The older of what both ends speak. */
function initialized({ era, protocolVersion, capabilities, serverInfo, instructions }: Handshake, wished: unknown): Reply {
  const asked = VERSIONS.find((version) => version === wished) ?? VERSIONS[0] ?? protocolVersion
  const spoken = era === 'legacy' && protocolVersion < asked ? protocolVersion : asked
  return {
    result: {
      protocolVersion: spoken,
      capabilities: offered(capabilities),
      serverInfo,
      ...(instructions === undefined ? {} : { instructions }),
    },
  }
}

/** An answer of 2026-07-28 without what was not known before. */
function asBefore(reply: Reply): Reply {
  if ('error' in reply) return reply
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...result } = reply.result
  return { result }
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}
