/**
 * A whole configuration file of MCP servers: `mcpServers` as Claude, Cursor and others name it, or `servers` as VS Code does.
 */
import { z } from 'zod'
import { McpServerConfig } from './server-config.ts'
import { McpServerName, SERVER_NAME_PROBLEM } from './server-name.ts'

export const MAXIMUM_MCP_SERVERS = 256

const Servers = z
  .record(McpServerName, McpServerConfig, {
    error: ({ code }) => (code === 'invalid_key' ? SERVER_NAME_PROBLEM : 'must be an object with a configuration for each name'),
  })
  .refine((servers) => Object.keys(servers).length <= MAXIMUM_MCP_SERVERS, { error: `must be at most ${MAXIMUM_MCP_SERVERS} servers` })

/** Whatever else is in the file is its program's own. VS Code's `inputs` are asked of a person; values that need one are refused where they stand. */
export const McpServersDocument = z
  .object({ mcpServers: Servers.optional(), servers: Servers.optional() }, { error: 'must be an object' })
  .refine(({ mcpServers, servers }) => (mcpServers === undefined) !== (servers === undefined), {
    error: 'give exactly one of mcpServers and servers',
    path: ['mcpServers'],
  })
  .transform(({ mcpServers, servers }) => ({ mcpServers: mcpServers ?? servers ?? {} }))
export type McpServersDocument = z.output<typeof McpServersDocument>
export type McpServersDocumentInput = z.input<typeof McpServersDocument>
