/**
 * `/v1/mcp/servers`: MCP servers of the tenant, as they are configured.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * How they are started, called and looked after is in `mcp-use-routes.ts`; MCP clients reach them at `/mcp/{server}`.
 */
import type { ErrorCode } from '@holdfast/protocol'
import { McpServerConfig, McpServerList, McpServerName, McpServersDocument, McpServerView } from '@holdfast/protocol/mcp'
import { z } from 'zod'
import { authorize } from '../../access/authorize.ts'
import type { By, McpServer, McpServers } from '../../mcp/servers/mcp-servers.ts'
import { serverView } from './mcp-views.ts'
import type { McpViewNeeds } from './mcp-views.ts'
import { empty, json, route } from './route.ts'
import type { Entered, Route, Visit } from './route.ts'
import { etag } from './versions.ts'

export interface McpRoutesNeeds extends McpViewNeeds {
  readonly servers: McpServers
}

export const OneServer = z.strictObject({ name: McpServerName })
const CHANGE_ERRORS: readonly ErrorCode[] = ['forbidden', 'quota_exceeded', 'version_conflict']

export function mcpRoutes({ servers, ...needs }: McpRoutesNeeds): readonly Route[] {
  const view = (server: McpServer, entered: Entered) => serverView(needs, server, entered)

  const put = (call: Entered & Visit, configs: Readonly<Record<string, McpServerConfig>>, ifMatch?: number) =>
    servers.put(call.principal.tenantId, configs, by(call), ifMatch)

  return [
    route({
      method: 'GET',
      path: '/v1/mcp/servers',
      summary: 'List the MCP servers of the tenant, and how their processes are',
      authorization: 'read-mcp',
      answers: { 200: json('McpServerList', McpServerList, 'All of them, in the order of their names') },
      errors: ['forbidden'],
      async handle(call) {
        const listed = await servers.list(call.principal.tenantId)
        return { status: 200, body: { items: await Promise.all(listed.map((server) => view(server, call))) } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/mcp/servers',
      summary: 'Put all MCP servers of a configuration file as Claude, Cursor or VS Code write it; others stay',
      authorization: 'manage-mcp',
      body: McpServersDocument,
      answers: { 200: json('McpServerList', McpServerList, 'Those that were put') },
      errors: CHANGE_ERRORS,
      isRepeatable: true,
      async handle(call) {
        const done = await put(call, call.body.mcpServers)
        return { status: 200, body: { items: await Promise.all(done.map(({ server }) => view(server, call))) } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/mcp/servers/{name}',
      summary: 'Read an MCP server, and how its processes are',
      authorization: 'read-mcp',
      params: OneServer,
      answers: { 200: json('McpServer', McpServerView, 'The server, without values of its environment') },
      errors: ['forbidden', 'not_found'],
      async handle(call) {
        const server = await servers.get(call.principal.tenantId, call.params.name)
        return { status: 200, body: await view(server, call), headers: etag(server) }
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/mcp/servers/{name}',
      summary: 'Put an MCP server as mcpServers has it; what runs by its configuration before is ended',
      authorization: 'manage-mcp',
      params: OneServer,
      body: McpServerConfig,
      ifMatch: 'optional',
      answers: {
        200: json('McpServer', McpServerView, 'The changed server'),
        201: json('McpServer', McpServerView, 'A new server'),
      },
      errors: CHANGE_ERRORS,
      async handle(call) {
        const [done] = await put(call, { [call.params.name]: call.body }, call.ifMatch)
        if (done === undefined) throw new TypeError('what was put is not there')
        const answer = { body: await view(done.server, call), headers: etag(done.server) }
        return done.isNew ? { status: 201, ...answer } : { status: 200, ...answer }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/mcp/servers/{name}',
      summary: 'Remove an MCP server, and end what runs of it',
      authorization: 'manage-mcp',
      params: OneServer,
      ifMatch: 'optional',
      answers: { 204: empty('It is gone') },
      errors: ['forbidden', 'not_found', 'version_conflict'],
      async handle(call) {
        await servers.remove(call.principal.tenantId, call.params.name, by(call), call.ifMatch)
        return { status: 204, body: null }
      },
    }),
  ]
}

function by({ caller, requestId, principal }: Entered & Visit): By {
  const { onBehalfOf } = principal
  return {
    ...{ actor: caller.actor, requestId, ...(onBehalfOf === null ? {} : { onBehalfOf }) },
    mayChange(scope) {
      // What runs for every tenant is for those who administer them all.
      if (scope === 'shared') authorize(principal, 'manage-tenants')
    },
  }
}
