/**
 * The tools that a running MCP server offers, all of its pages together.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { McpToolView } from '@holdfast/protocol/mcp'
import { isObject } from '../share/message.ts'
import type { JsonObject, Reply } from '../share/message.ts'
import type { SharedServer } from '../share/shared-server.ts'

const MAXIMUM_PAGES = 100
const MAXIMUM_TOOLS = 10_000
/** Of all of them as JSON: nobody can work with more, and a server could go on for ever. */
const MAXIMUM_CHARACTERS = 8 * 1024 * 1024

/** Throws what a request of a client does, and `mcp_call_refused`. */
export async function listTools(
  server: Pick<SharedServer, 'initialized' | 'connect'>,
  signal?: AbortSignal,
): Promise<readonly McpToolView[]> {
  const { capabilities } = await server.initialized
  if (!isObject(capabilities['tools'])) return []
  const client = server.connect({ info: { name: 'holdfast', version: '1' }, capabilities: {}, onNotification: () => undefined })
  try {
    return await allTools((params) => client.request({ method: 'tools/list', params }, signal === undefined ? {} : { signal }))
  } finally {
    client.close()
  }
}

/** Page by page, as far as they go. */
export async function allTools(ask: (params: JsonObject) => Promise<Reply>): Promise<readonly McpToolView[]> {
  const tools: McpToolView[] = []
  let characters = 0
  let cursor: string | undefined
  for (let page = 0; page < MAXIMUM_PAGES; page += 1) {
    const reply = await ask(cursor === undefined ? {} : { cursor })
    if ('error' in reply)
      throw new HoldfastError('mcp_call_refused', `the MCP server refused to list its tools: ${reply.error.message.slice(0, 300)}`)
    const { tools: listed, nextCursor } = reply.result
    for (const tool of Array.isArray(listed) ? listed : []) {
      const parsed = McpToolView.safeParse(tool)
      const size = parsed.success ? sizeOf(parsed.data) : null
      if (!parsed.success || size === null) continue
      characters += size
      if (tools.length === MAXIMUM_TOOLS || characters > MAXIMUM_CHARACTERS) return tools
      tools.push(parsed.data)
    }
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) break
    cursor = nextCursor
  }
  return tools
}

/** `null`: it is nested too deep to be passed on. */
function sizeOf(tool: McpToolView): number | null {
  try {
    return JSON.stringify(tool).length
  } catch {
    return null
  }
}
