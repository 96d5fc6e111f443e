/**
 * Everything at `/mcp`: our tools with those of all servers beside them, and each server by itself.
 *
 * [ingress] → mcp → tools → access → policy → sessions → sandboxes → guest → result
 */
import { randomUUID } from 'node:crypto'
import type { McpRuns } from '../../mcp/run/mcp-runs.ts'
import type { McpServers } from '../../mcp/servers/mcp-servers.ts'
import type { DirectDoor } from '../direct-door.ts'
import type { DoorNeeds } from '../rest/door.ts'
import { mcpGateway } from './gateway.ts'
import { mcpGatewayServer } from './gateway-server.ts'
import { serverTools } from './gateway-tools.ts'
import { ourToolsServer } from './our-tools/our-tools.ts'
import type { OurToolsServer } from './our-tools/our-tools.ts'
import type { OurToolsRoutesNeeds } from './our-tools/our-tools-routes.ts'
import { serverTargets } from './server-targets.ts'

export interface McpDoorsNeeds extends Omit<DoorNeeds, 'routes'>, Omit<OurToolsRoutesNeeds, 'moreTools'> {
  readonly mcp: { readonly servers: McpServers; readonly runs: McpRuns }
  readonly clock: () => number
}

export interface McpDoors {
  /** Our tools, at `/mcp`. */
  fetch: OurToolsServer['fetch']
  /** The gateway, at `/mcp/{server}`. */
  readonly gateway: DirectDoor
  close(): void
}

export function openMcpDoors({ mcp, clock, ...needs }: McpDoorsNeeds): McpDoors {
  const targets = serverTargets({ ...mcp, scopes: needs.scopes, pipelines: needs.pipelines })
  const ourTools = ourToolsServer({ ...needs, moreTools: [serverTools({ servers: targets.servers, log: needs.log })] })
  const gateway = mcpGateway({ clock, newId: randomUUID })
  return {
    fetch: ourTools.fetch,
    gateway: mcpGatewayServer({ ...needs, gateway, targetOf: targets.targetOf }),
    close: () => gateway.close(),
  }
}
