/**
 * The official TypeScript clients of both generations, over Streamable HTTP.
 */
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client'
import type { VersionNegotiationMode } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { clientOver } from './mcp-client.ts'
import type { McpClient, Method, OnProgress, PublishedMcpClient } from './mcp-client.ts'

const INFO = { name: 'holdfast-interop', version: '1.0.0' }

export const TYPESCRIPT_CLIENTS: readonly PublishedMcpClient[] = [
  newGeneration('2026-07-28', { pin: '2026-07-28' }),
  newGeneration('2025-11-25', 'legacy'),
  {
    name: '@modelcontextprotocol/sdk (2025-11-25)',
    hearsProgress: true,
    async open(url, headers) {
      const client = new OldClient(INFO)
      await client.connect(new OldTransport(new URL(url), { requestInit: { headers } }))
      return clientOf(client, (call, options) => client.callTool(call, undefined, options))
    },
  },
]

function newGeneration(revision: string, mode: VersionNegotiationMode): PublishedMcpClient {
  return {
    name: `@modelcontextprotocol/client (${revision})`,
    hearsProgress: true,
    async open(url, headers) {
      const client = new NewClient(INFO, { versionNegotiation: { mode } })
      await client.connect(new NewTransport(new URL(url), { requestInit: { headers } }))
      return clientOf(client, (call, options) => client.callTool(call, options))
    },
  }
}

/** Both generations call a tool differently, and do the rest alike. */
type CallTool = (call: { name: string }, options: { readonly onprogress?: OnProgress }) => Promise<unknown>

function clientOf(client: OldClient | NewClient, callTool: CallTool): McpClient {
  const named = (params: object) => params as { name: string; arguments?: Record<string, string> }
  const methods: Record<Method, (params: object, onProgress?: OnProgress) => Promise<unknown>> = {
    'tools/list': () => client.listTools(),
    'tools/call': (params, onprogress) => callTool(named(params), onprogress === undefined ? {} : { onprogress }),
    'resources/list': () => client.listResources(),
    'resources/read': (params) => client.readResource(params as { uri: string }),
    'prompts/list': () => client.listPrompts(),
    'prompts/get': (params) => client.getPrompt(named(params)),
  }
  return clientOver(
    (method, params = {}, onProgress) => methods[method](params, onProgress),
    () => client.close(),
  )
}
