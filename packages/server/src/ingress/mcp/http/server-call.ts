/**
 * One request of a client, carried to its server and back within the rules for tools.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { CallOptions } from '../../../mcp/share/open-call.ts'
import { METHOD_NOT_FOUND } from '../../../mcp/share/message.ts'
import type { JsonObject, Reply } from '../../../mcp/share/message.ts'
import type { SharedClient } from '../../../mcp/share/shared-clients.ts'
import { mayUse, visibleTools } from './tool-rules.ts'
import type { ToolRules } from './tool-rules.ts'

export interface Asked {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** Throws `mcp_tool_denied`, and what a shared client's request does. */
export async function callServer(client: SharedClient, rules: ToolRules, asked: Asked, options: CallOptions): Promise<Reply> {
  const { method, params } = asked
  // Whose a task is, a shared server does not know.
  if (method.startsWith('tasks/')) return unknownMethod(method)
  if (method === 'tools/call') {
    const tool = String(params?.['name'])
    if (!mayUse(rules, tool))
      throw new HoldfastError('mcp_tool_denied', `the tool ${JSON.stringify(tool.slice(0, 128))} may not be used here`)
  }
  const reply = await client.request({ method, params }, options)
  return method === 'tools/list' && 'result' in reply ? { result: visibleTools(rules, reply.result) } : reply
}

export function unknownMethod(method: string): Reply {
  return { error: { code: METHOD_NOT_FOUND, message: `there is no method ${method.slice(0, 100)}` } }
}

/** What is shared is not offered where it could not be told apart. */
export function offered(capabilities: JsonObject): JsonObject {
  const { tasks: _, ...rest } = capabilities
  return rest
}
