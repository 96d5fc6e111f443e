/**
 * The tool of `mcp-echo.ts` over HTTP with nothing behind it: no key, no gateway, no box. What a client pays for HTTP alone.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly said?: string } }
}

const SERVER = { capabilities: { tools: {} }, serverInfo: { name: 'echo', version: '1.0.0' } }

const server = createServer((request, response) => void answer(request, response))

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const { id, method, params }: Message = JSON.parse(await text(request))
  if (id === undefined) return void response.writeHead(202).end()
  const result =
    method === 'initialize'
      ? { protocolVersion: params?.protocolVersion, ...SERVER }
      : { content: [{ type: 'text', text: params?.arguments?.said }] }
  const content = JSON.stringify({ jsonrpc: '2.0', id, result })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }).end(content)
}

server.listen(0, '127.0.0.1', () => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one that listens on a port has an address
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
