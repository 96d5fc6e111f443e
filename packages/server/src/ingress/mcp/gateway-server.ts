/**
 * The gateway at `/mcp/{server}`: host, origin, key and rate are checked as by REST, in the same order.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { directDoor } from '../direct-door.ts'
import type { DirectDoor, DirectEntrance } from '../direct-door.ts'
import type { Entered } from '../rest/route.ts'
import type { McpGateway } from './gateway.ts'
import type { GatewayTarget, GatewayVisit } from './http/gateway-visit.ts'
import { conversationsOf } from './our-tools/conversation.ts'
import type { Conversation } from './our-tools/conversation.ts'

const ADDRESS = /^(?:https?:\/\/[^/]*)?\/mcp\/([^/?#]+)(?:\?([^#]*))?$/
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
const METHODS = ['POST', 'GET', 'DELETE'] as const satisfies readonly GatewayVisit['method'][]

/** Which server is asked for, by whom, and in which conversation. */
export interface GatewayAsked extends Entered {
  readonly server: string
  readonly conversation: Conversation
}

export interface GatewayServerNeeds extends DirectEntrance {
  readonly gateway: McpGateway
  /** Throws `not_found` for a server that this one may not see. */
  targetOf(asked: GatewayAsked): Promise<GatewayTarget>
}

export function mcpGatewayServer({ gateway, targetOf, ...door }: GatewayServerNeeds): DirectDoor {
  const conversationOf = conversationsOf()
  return directDoor({
    ...door,
    path: '/mcp/{server}',
    methods: METHODS,
    async handle(call) {
      const { url, headers, principal, caller } = call
      const [, server = '', search = ''] = ADDRESS.exec(url) ?? []
      if (!NAME.test(server)) throw unnamed(server)
      const conversation = conversationOf(search, headers)
      return gateway.handle(call, () => targetOf({ server, conversation, principal, caller }))
    },
  })
}

function unnamed(server: string): HoldfastError {
  const problem = 'must be the name of an MCP server'
  return new HoldfastError('invalid_request', `server: ${problem}, not ${JSON.stringify(server.slice(0, 64))}`, {
    problems: [{ field: 'server', problem }],
  })
}
