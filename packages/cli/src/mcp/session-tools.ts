/**
 * What a model may know and do about its own session as a whole. The same two are offered at `/mcp` of a server.
 *
 * They take nothing, so there is nothing by which a model could mean another session.
 */
import type { Tool, ToolResult } from '@holdfast/sdk'
import type { ToolConversation } from './conversation.ts'

const inputSchema = { type: 'object', properties: {}, additionalProperties: false }

export const SESSION_TOOLS: readonly Tool[] = [
  {
    name: 'session_status',
    description: 'Tell the state of your sandbox session: whether it runs, what became of its files, and until when it is kept.',
    inputSchema,
  },
  {
    name: 'session_reset',
    description:
      'End your sandbox session with everything that runs in it and, unless they are kept elsewhere, its files. The next call begins a new one.',
    inputSchema,
  },
]

/** `null`: it is none of these. */
export function callSessionTool(
  conversation: ToolConversation,
  name: string,
  input: object,
  signal: AbortSignal,
): Promise<ToolResult> | null {
  if (!SESSION_TOOLS.some((tool) => tool.name === name)) return null
  const [extra] = Object.keys(input)
  if (extra !== undefined) return Promise.resolve({ ok: false, error: `${extra.slice(0, 64)}: is not a known field` })
  return name === 'session_status' ? status(conversation, signal) : reset(conversation, signal)
}

async function status(conversation: ToolConversation, signal: AbortSignal): Promise<ToolResult> {
  const { id, state, incarnation, workspace, notice, running, expiresAt, expiresReason } = (await conversation.session(signal)).record
  return { ok: true, session_id: id, state, incarnation, workspace, notice, running, expires_at: expiresAt, expires_reason: expiresReason }
}

async function reset(conversation: ToolConversation, signal: AbortSignal): Promise<ToolResult> {
  if (conversation.isById)
    return { ok: false, error: 'this conversation is bound to one session by its id, and only its host can end that' }
  const { id } = await (await conversation.session(signal)).release({ ifBusy: 'kill', signal })
  return { ok: true, ended_session_id: id }
}
