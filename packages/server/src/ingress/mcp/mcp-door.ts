/**
 * The address of everything for MCP clients. What answers there is loaded with the first request: its library takes a third of the memory
 * of an idle server, and many servers are never asked.
 *
 * [ingress] → mcp → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { McpDoors, McpDoorsNeeds } from './mcp-doors.ts'

/** Every request of the server is asked about, so it is not taken apart. */
const ADDRESS = /^https?:\/\/[^/]*\/mcp(?:\/[^/]+)?(?:\?|$)/

export interface McpDoor {
  /** Whether a request to this address is for it. */
  serves(url: string): boolean
  fetch(...asked: Parameters<McpDoors['fetch']>): Promise<Response>
  close(): Promise<void>
}

export function mcpDoor(needs: McpDoorsNeeds): McpDoor {
  let opening: Promise<McpDoors> | null = null
  const open = async (): Promise<McpDoors> => (await import('./mcp-doors.ts')).openMcpDoors(needs)
  return {
    serves: (url) => ADDRESS.test(url),
    fetch: async (...asked) => (await (opening ??= open())).fetch(...asked),
    close: async () => (await opening)?.close(),
  }
}
