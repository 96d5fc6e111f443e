/**
 * The tool of `mcp-echo.ts` with as little of a server's own work as Node allows; it speaks 2025-11-25 only.
 */
const TOOL = { name: 'echo', description: 'Says it again', inputSchema: { type: 'object', properties: { said: { type: 'string' } } } }

interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly said?: string } }
}

let rest = ''
process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) hear(line)
})

function hear(line: string): void {
  const { id, method, params }: Message = JSON.parse(line)
  if (id === undefined) return
  const reply = replyTo(method, params)
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`)
}

function replyTo(method: string, params: Message['params']): object {
  if (method === 'tools/call') return { result: { content: [{ type: 'text', text: params?.arguments?.said ?? '' }] } }
  if (method === 'tools/list') return { result: { tools: [TOOL] } }
  if (method === 'ping') return { result: {} }
  if (method !== 'initialize') return { error: { code: -32601, message: `there is no method ${method}` } }
  const serverInfo = { name: 'echo', version: '1.0.0' }
  return { result: { protocolVersion: params?.protocolVersion ?? '2025-11-25', capabilities: { tools: {} }, serverInfo } }
}
