/**
 * The addresses of everything for MCP clients. What answers there is loaded with the first request: its library takes a third of the memory
 * of an idle server, and many servers are never asked.
 *
 * [ingress] → mcp → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { Direct } from '../http-listener.ts'
import type { McpDoors, McpDoorsNeeds } from './mcp-doors.ts'

/** Every request of the server is asked about, so it is not taken apart. */
const OUR_TOOLS = /^https?:\/\/[^/]*\/mcp(?:\?|$)/
const GATEWAY = /^(?:https?:\/\/[^/]*)?\/mcp\/[^/?#]+(?:\?|$)/

export interface McpDoor {
  /** Whether a request to this address is for our tools. */
  serves(url: string): boolean
  fetch(...asked: Parameters<McpDoors['fetch']>): Promise<Response>
  /** The gateway to servers in boxes. */
  readonly direct: Direct
  close(): Promise<void>
}

export function mcpDoor(needs: McpDoorsNeeds): McpDoor {
  let opened: McpDoors | null = null
  let opening: Promise<McpDoors> | null = null
  const open = async (): Promise<McpDoors> => (opened = (await import('./mcp-doors.ts')).openMcpDoors(needs))
  return {
    serves: (url) => OUR_TOOLS.test(url),
    fetch: async (...asked) => (await (opening ??= open())).fetch(...asked),
    direct(request, answer) {
      if (!GATEWAY.test(request.url ?? '')) return false
      if (opened !== null) opened.gateway(request, answer)
      else
        (opening ??= open()).then(
          ({ gateway }) => gateway(request, answer),
          () => answer.destroy(),
        )
      return true
    },
    close: async () => (await opening)?.close(),
  }
}
