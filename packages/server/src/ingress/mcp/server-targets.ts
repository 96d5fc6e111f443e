/**
 * From what a client asks for at `/mcp` and `/mcp/{server}` to the MCP servers that run for its conversation.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { McpRuns, OpenRequest } from '../../mcp/run/mcp-runs.ts'
import type { McpServers } from '../../mcp/servers/mcp-servers.ts'
import { askedFor } from '../rest/mcp-conversation.ts'
import type { KeyNeeds } from '../rest/session-requests.ts'
import type { GatewayServerNeeds } from './gateway-server.ts'
import type { NamedServer, ServerToolsNeeds } from './gateway-tools.ts'

export interface ServerTargetsNeeds extends KeyNeeds {
  readonly servers: McpServers
  readonly runs: McpRuns
}

export interface ServerTargets extends Pick<GatewayServerNeeds, 'targetOf'>, Pick<ServerToolsNeeds, 'servers'> {}

export function serverTargets({ servers, runs, ...rules }: ServerTargetsNeeds): ServerTargets {
  const opening =
    (request: OpenRequest): NamedServer['open'] =>
    async (signal, tries) => {
      const { server, shared, run } = await runs.open({ ...request, tries }, signal)
      return { server: shared, tools: server.config.tools, recheck: () => runs.recheck(run, request.caller) }
    }

  return {
    async targetOf({ server: name, conversation, principal, caller }) {
      const { tenantId, subject } = principal
      // Asked before anything is begun, so that whoever may not see it is told so like everywhere else.
      const known = await servers.recall(tenantId, name)
      const { target, pipeline } = await askedFor(conversation, rules, caller)
      const where = target === null ? null : 'id' in target ? target.id : target.key.keyHash
      const open = opening({ caller, name, target, pipeline, known })
      return {
        visitor: JSON.stringify([tenantId, subject]),
        holder: JSON.stringify([tenantId, subject, name, where, pipeline ?? null]),
        open: (signal) => open(signal),
      }
    },
    async servers({ caller, conversation, principal }) {
      const listed = await servers.list(principal.tenantId).catch(unlessUnreadable)
      return listed
        .filter(({ config, scope }) => !config.disabled && (scope !== 'pipeline' || conversation.pipeline !== undefined))
        .map(({ name }): NamedServer => {
          const open: NamedServer['open'] = async (...asked) =>
            opening({ caller, name, ...(await askedFor(conversation, rules, caller)) })(...asked)
          return { name, open }
        })
    },
  }
}

/** Our own tools are there also when the key to these is lost; each of them says so when it is asked for. */
function unlessUnreadable(error: unknown): readonly [] {
  if (isHoldfastError(error, 'config_invalid')) return []
  throw error
}
