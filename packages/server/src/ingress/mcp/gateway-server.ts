/**
 * The gateway at `/mcp/{server}`, behind the same door as REST: host, origin, key and rate are checked as there, in the same order.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { Hono } from 'hono'
import { z } from 'zod'
import { ByteContent } from '../rest/byte-content.ts'
import { restDoor } from '../rest/door.ts'
import type { DoorEnvironment, DoorNeeds } from '../rest/door.ts'
import { NO_BYTES } from '../rest/request-body.ts'
import { bytes, empty, eventsOnly, route } from '../rest/route.ts'
import type { Entered, Route, Visit } from '../rest/route.ts'
import type { McpGateway } from './gateway.ts'
import type { GatewayTarget, GatewayVisit } from './http/gateway-visit.ts'
import { addressed, ConversationQuery } from './our-tools/conversation.ts'
import type { Conversation } from './our-tools/conversation.ts'

/** Every request of the server is asked about, so it is not taken apart. */
const ADDRESS = /^https?:\/\/[^/]*\/mcp\/[^/]+(?:\?|$)/
const PATH = '/mcp/{server}'
const params = z.strictObject({ server: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/) })
const SESSION_HEADER = { 'Mcp-Session-Id': 'What initialize was answered with; of clients up to 2025-11-25.' }

/** Which server is asked for, by whom, and in which conversation. */
export interface GatewayAsked extends Entered {
  readonly server: string
  readonly conversation: Conversation
}

export interface GatewayRoutesNeeds {
  readonly gateway: McpGateway
  /** Throws `not_found` for a server that this one may not see. */
  targetOf(asked: GatewayAsked): Promise<GatewayTarget>
}

export interface GatewayServer {
  /** Whether a request to this address is for it. */
  serves(url: string): boolean
  fetch: Hono<DoorEnvironment>['fetch']
}

export function mcpGatewayServer(needs: GatewayRoutesNeeds & Omit<DoorNeeds, 'routes'>): GatewayServer {
  const door = restDoor({ ...needs, routes: gatewayRoutes(needs) })
  return {
    serves: (url) => ADDRESS.test(url),
    fetch: (request, ...rest) => door.fetch(addressed(request), ...rest),
  }
}

export function gatewayRoutes({ gateway, targetOf }: GatewayRoutesNeeds): readonly Route[] {
  interface Called extends Visit, Entered {
    readonly params: { readonly server: string }
    readonly query: Conversation
  }

  async function handle(method: GatewayVisit['method'], call: Called, body: AsyncIterable<Uint8Array>): Promise<Response> {
    const { params: asked, query: conversation, principal, caller } = call
    return gateway.handle({ ...call, method, body }, () => targetOf({ server: asked.server, conversation, principal, caller }))
  }

  const shared = { path: PATH, authorization: 'any-principal', params, query: ConversationQuery, headers: SESSION_HEADER } as const
  return [
    route({
      ...shared,
      method: 'POST',
      summary: 'Send a message to an MCP server in a box',
      body: new ByteContent('application/json'),
      answers: { 200: bytes('application/json', 'The answer, as JSON or as a stream of messages'), 202: empty('Taken; it has no answer') },
      errors: ['payload_too_large', 'capacity_exhausted'],
      handle: (call) => handle('POST', call, call.body),
    }),
    route({
      ...shared,
      method: 'GET',
      summary: 'Hear what an MCP server in a box tells without being asked',
      answers: { 200: eventsOnly('Messages of the server, until the client leaves', 'message') },
      errors: [],
      // Whoever asks only for the headers would take the stream from the one who reads it.
      handle: async (call) => (call.isHead === true ? new Response(null, { status: 405 }) : handle('GET', call, NO_BYTES)),
    }),
    route({
      ...shared,
      method: 'DELETE',
      summary: 'End a session with an MCP server in a box',
      answers: { 200: empty('It is over') },
      errors: [],
      handle: (call) => handle('DELETE', call, NO_BYTES),
    }),
  ]
}
