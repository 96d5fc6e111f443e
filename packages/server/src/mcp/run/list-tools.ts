/**
 * The tools that a running MCP server offers, all of its pages together.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { McpToolView } from '@holdfast/protocol/mcp'
import { isObject } from '../share/message.ts'
import type { SharedClient } from '../share/shared-clients.ts'
import type { SharedServer } from '../share/shared-server.ts'

const MAXIMUM_PAGES = 100
const MAXIMUM_TOOLS = 10_000

/** Throws what a request of a client does, and `mcp_call_refused`. */
export async function listTools(
  server: Pick<SharedServer, 'initialized' | 'connect'>,
  signal?: AbortSignal,
): Promise<readonly McpToolView[]> {
  const { capabilities } = await server.initialized
  if (!isObject(capabilities['tools'])) return []
  const client = server.connect({ info: { name: 'holdfast', version: '1' }, capabilities: {}, onNotification: () => undefined })
  try {
    return await allPages(client, signal)
  } finally {
    client.close()
  }
}

async function allPages(client: SharedClient, signal: AbortSignal | undefined): Promise<readonly McpToolView[]> {
  const tools: McpToolView[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAXIMUM_PAGES && tools.length < MAXIMUM_TOOLS; page += 1) {
    const params = cursor === undefined ? {} : { cursor }
    const reply = await client.request({ method: 'tools/list', params }, signal === undefined ? {} : { signal })
    if ('error' in reply)
      throw new HoldfastError('mcp_call_refused', `the MCP server refused to list its tools: ${reply.error.message.slice(0, 300)}`)
    const { tools: listed, nextCursor } = reply.result
    for (const tool of Array.isArray(listed) ? listed : []) {
      const parsed = McpToolView.safeParse(tool)
      if (parsed.success) tools.push(parsed.data)
    }
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) break
    cursor = nextCursor
  }
  return tools
}
