/**
 * The tools of a running server as an MCP server: every call is one call of the server's API, in one session.
 */
import { McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Holdfast, Tool, ToolCallOptions, ToolResult } from '@holdfast/sdk'
import { VERSION } from '../commands/version.ts'
import { isFailure } from '../failure.ts'
import type { ToolConversation } from './conversation.ts'
import { callSessionTool, SESSION_TOOLS } from './session-tools.ts'

export interface Offer {
  readonly guidance: string
  readonly tools: readonly Tool[]
}

type Watch = Pick<ToolCallOptions, 'onProgress'> & { readonly signal: AbortSignal }

/** What the server offers; throws when it is not there, or this one may not ask. */
export async function readOffer(holdfast: Holdfast): Promise<Offer> {
  const [tools, guidance] = await Promise.all([holdfast.tools.list(), holdfast.tools.guidance()])
  return { guidance, tools: [...tools, ...SESSION_TOOLS] }
}

export function toolServer({ guidance, tools }: Offer, conversation: ToolConversation): McpServer {
  // The library would promise to tell when they change, which nobody does here.
  const capabilities = { tools: { listChanged: false } }
  const mcp = new McpServer({ name: 'holdfast', version: VERSION }, { capabilities, instructions: guidance })
  const listed = tools.map(({ name, description, inputSchema }) => ({
    ...{ name, description },
    inputSchema: { ...inputSchema, type: 'object' as const },
  }))
  async function called(name: string, input: object, { signal, onProgress }: Watch): Promise<ToolResult> {
    if (!listed.some((tool) => tool.name === name))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool '${name.slice(0, 64)}'`)
    try {
      return await (callSessionTool(conversation, name, input, signal) ??
        (await conversation.session(signal)).tools.call(name, input, { signal, onProgress, images: true }))
    } catch (error) {
      if (!isFailure(error)) throw error
      return { ok: false, error: error.message, code: error.code }
    }
  }
  mcp.server.setRequestHandler('tools/list', () => ({ tools: listed }))
  mcp.server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, { mcpReq }) => {
    const { signal, _meta: { progressToken } = {} } = mcpReq
    let progress = 0
    // A client that asks for none gets its answer in one piece, and the request can be repeated when the connection breaks.
    const onProgress =
      progressToken === undefined
        ? undefined
        : (message: string) =>
            mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: (progress += 1), message } })
    return resultOf(await called(name, input, { signal, onProgress }))
  })
  return mcp
}

interface ShownImage {
  readonly mime_type: string
  readonly data: string
}

function isImage(value: unknown): value is ShownImage {
  return typeof value === 'object' && value !== null && 'mime_type' in value && 'data' in value
}

function resultOf({ image, ...told }: ToolResult): CallToolResult {
  if (isImage(image)) {
    const facts = { ...told, mime_type: image.mime_type }
    const shown = { type: 'image', data: image.data, mimeType: image.mime_type } as const
    return { content: [shown, { type: 'text', text: JSON.stringify(facts) }], structuredContent: facts }
  }
  const failure = told.ok ? undefined : told.error
  return {
    content: [{ type: 'text', text: failure ?? JSON.stringify(told) }],
    structuredContent: { ...told },
    ...(failure === undefined ? {} : { isError: true }),
  }
}
