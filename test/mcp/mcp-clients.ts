/**
 * Clients of both eras for one address: the official ones, and messages without any client's help.
 */
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const INFO = { name: 'test-client', version: '1.0.0' }

export interface Address {
  readonly url: string
  readonly key: string
}

export async function legacyClient({ url, key }: Address): Promise<LegacyClient> {
  const client = new LegacyClient(INFO)
  await client.connect(new LegacyHttp(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } }))
  return client
}

export async function modernClient({ url, key }: Address): Promise<ModernClient> {
  const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new ModernHttp(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } }))
  return client
}

export const CLIENTS = { '2025-11-25': legacyClient, '2026-07-28': modernClient } as const

/** What both have in common. */
export interface ToolClient {
  call(name: string, given?: Record<string, unknown>): Promise<string>
  close(): Promise<void>
}

/** The text of what a tool answers. */
export async function toolClient(revision: keyof typeof CLIENTS, address: Address): Promise<ToolClient> {
  const client = await CLIENTS[revision](address)
  return {
    async call(name, given = {}) {
      const result = (await client.callTool({ name, arguments: given })) as { readonly content: readonly { readonly text: string }[] }
      return result.content[0]?.text ?? ''
    },
    close: () => client.close(),
  }
}

export function post({ url, key }: Address, message: object, more: Readonly<Record<string, string>> = {}, signal?: AbortSignal) {
  return fetch(url, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...more,
    },
    body: JSON.stringify(message),
    ...(signal === undefined ? {} : { signal }),
  })
}

/** One call of 2026-07-28, with what it wants to hear of the log. */
export function modernCall(address: Address, name: string, given: object, signal?: AbortSignal): Promise<Response> {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': INFO,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/logLevel': 'debug',
  }
  const params = { name, arguments: given, _meta: envelope }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
  return post(address, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers, signal)
}

/** A session of 2025-11-25, and the headers that it goes on with. */
export async function begin(address: Address): Promise<Readonly<Record<string, string>>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO }
  const greeted = await post(address, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await greeted.text()
  return { 'mcp-session-id': greeted.headers.get('mcp-session-id') ?? '' }
}

export function callOf(id: number, name: string, given: object = {}): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: given } }
}

/** The messages of an answer, whether it is one or a stream of them. */
export function messagesIn(text: string): readonly Record<string, unknown>[] {
  const lines = text.startsWith('{') ? [text] : text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}
