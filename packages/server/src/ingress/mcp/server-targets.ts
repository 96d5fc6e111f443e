/**
 * From what a client asks for at `/mcp` and `/mcp/{server}` to the MCP servers that run for its conversation.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { McpRuns } from '../../mcp/run/mcp-runs.ts'
import type { McpServers } from '../../mcp/servers/mcp-servers.ts'
import { askedFor } from '../rest/mcp-conversation.ts'
import type { KeyNeeds } from '../rest/session-requests.ts'
import type { GatewayRoutesNeeds } from './gateway-server.ts'
import type { NamedServer, ServerToolsNeeds } from './gateway-tools.ts'
import type { ToolVisit } from './our-tools/tool-offer.ts'

export interface ServerTargetsNeeds extends KeyNeeds {
  readonly servers: McpServers
  readonly runs: McpRuns
}

export interface ServerTargets extends Pick<GatewayRoutesNeeds, 'targetOf'>, Pick<ServerToolsNeeds, 'servers'> {}

export function serverTargets({ servers, runs, ...rules }: ServerTargetsNeeds): ServerTargets {
  type Asked = Pick<ToolVisit, 'caller' | 'conversation'>

  const opening =
    ({ caller, conversation }: Asked, name: string): NamedServer['open'] =>
    async (signal, tries) => {
      const { server, shared } = await runs.open({ caller, name, tries, ...askedFor(conversation, rules) }, signal)
      return { server: shared, tools: server.config.tools }
    }

  return {
    async targetOf({ server: name, conversation, principal, caller }) {
      const { tenantId, subject } = principal
      // Asked before anything is begun, so that whoever may not see it is told so like everywhere else.
      await servers.get(tenantId, name)
      const { target, pipeline } = askedFor(conversation, rules)
      const where = target === null ? null : 'id' in target ? target.id : target.key.keyHash
      const open = opening({ caller, conversation }, name)
      return {
        visitor: JSON.stringify([tenantId, subject]),
        holder: JSON.stringify([tenantId, subject, name, where, pipeline ?? null]),
        open: (signal) => open(signal),
      }
    },
    async servers(visit) {
      const { conversation, principal } = visit
      const listed = await servers.list(principal.tenantId).catch(unlessUnreadable)
      return listed
        .filter(({ config, scope }) => !config.disabled && (scope !== 'pipeline' || conversation.pipeline !== undefined))
        .map(({ name }): NamedServer => ({ name, open: opening(visit, name) }))
    },
  }
}

/** Our own tools are there also when the key to these is lost; each of them says so when it is asked for. */
function unlessUnreadable(error: unknown): readonly [] {
  if (isHoldfastError(error, 'config_invalid')) return []
  throw error
}
