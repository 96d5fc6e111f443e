/**
 * Clients of an MCP server with an `echo` tool: the official one, and one with as little work of its own as Node allows; each through the
 * gateway and over a pipe to the same program on the host.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { McpProgram } from './mcp-program.ts'

export interface McpClient {
  /** Throws unless the tool says it again. */
  echo(said: string): Promise<void>
  listTools(): Promise<void>
  close(): Promise<void>
}

/** Where the gateway has it. */
export interface McpAddress {
  readonly url: string
  readonly key: string
}

const INFO = { name: 'bench', version: '1.0.0' }

export function officialOnHost({ command, args, env }: McpProgram): Promise<McpClient> {
  return official(new StdioClientTransport({ command, args: [...args], env: { ...env }, stderr: 'ignore' }))
}

export function officialThroughGateway({ url, key }: McpAddress): Promise<McpClient> {
  return official(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } }))
}

async function official(transport: Transport): Promise<McpClient> {
  const client = new Client(INFO)
  await client.connect(transport)
  return {
    async echo(said) {
      check(said, await client.callTool({ name: 'echo', arguments: { said } }))
    },
    async listTools() {
      await client.listTools()
    },
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
      await client.close()
    },
  }
}

/** One message there, its answer back; `null` for what has none. */
type Exchange = (message: object, isNotification: boolean) => Promise<unknown>

export async function plainOnHost({ command, args, env }: McpProgram): Promise<McpClient> {
  const child = spawn(command, [...args], { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'ignore'] })
  let rest = ''
  let answered: (answer: unknown) => void = () => undefined
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    rest += chunk
    if (!rest.endsWith('\n')) return
    const line = rest
    rest = ''
    answered(JSON.parse(line))
  })
  return plain(
    (message, isNotification) => {
      child.stdin.write(`${JSON.stringify(message)}\n`)
      return isNotification ? Promise.resolve(null) : new Promise((resolve) => (answered = resolve))
    },
    async () => {
      const closed = once(child, 'close')
      child.stdin.end()
      await closed
    },
  )
}

export async function plainThroughGateway({ url, key }: McpAddress): Promise<McpClient> {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port, pathname, search } = new URL(url)
  const target = { agent, method: 'POST', hostname, port, path: `${pathname}${search}` }
  const known: Record<string, string> = { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' }
  return plain(
    async (message) => {
      const content = JSON.stringify(message)
      const headers = { ...known, 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        request({ ...target, headers }, resolve)
          .once('error', reject)
          .end(content)
      })
      const body = await text(response)
      if ((response.statusCode ?? 500) >= 300) throw new Error(`the gateway answered with ${response.statusCode}: ${body}`)
      const { 'mcp-session-id': session } = response.headers
      if (typeof session === 'string') known['mcp-session-id'] = session
      return body === '' ? null : JSON.parse(body)
    },
    async () => agent.destroy(),
  )
}

async function plain(exchange: Exchange, close: () => Promise<void>): Promise<McpClient> {
  let last = 0
  const ask = async (method: string, params: object) => {
    const reply = await exchange({ jsonrpc: '2.0', id: (last += 1), method, params }, false)
    if (typeof reply === 'object' && reply !== null && 'result' in reply) return reply.result
    throw new Error(`${method} was answered with ${JSON.stringify(reply)}`)
  }
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO })
  await exchange({ jsonrpc: '2.0', method: 'notifications/initialized' }, true)
  return {
    async echo(said) {
      check(said, await ask('tools/call', { name: 'echo', arguments: { said } }))
    },
    async listTools() {
      await ask('tools/list', {})
    },
    close,
  }
}

function check(said: string, result: unknown): void {
  const content = typeof result === 'object' && result !== null && 'content' in result ? result.content : null
  if (isDeepStrictEqual(content, [{ type: 'text', text: said }])) return
  throw new Error(`the tool was told ${said} and answered ${JSON.stringify(result)}`)
}
