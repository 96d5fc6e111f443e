/**
 * The MCP server of one visit: what is offered, and calls, whose failures are results.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { whileAllowed } from '../../rest/while-allowed.ts'
import { outputProgress } from '../../../tools/output-progress.ts'
import { passedProgress } from './passed-progress.ts'
import type { ToldProgress } from './passed-progress.ts'
import { toldResult } from './tool-offer.ts'
import type { ToolOffer, ToolVisit, ToolWatch } from './tool-offer.ts'

export interface ToolServerNeeds {
  readonly release: string
  /** For the system message of the model. */
  readonly guidance: string
  readonly offers: readonly ToolOffer[]
}

export function toolServer({ release, guidance, offers }: ToolServerNeeds, visit: ToolVisit): McpServer {
  // The library would promise to tell when they change, which nobody does here.
  const capabilities = { tools: { listChanged: false } }
  const mcp = new McpServer({ name: 'holdfast', version: release }, { capabilities, instructions: guidance })

  async function called(name: string, input: unknown, watch: ToolWatch): Promise<CallToolResult> {
    for (const offer of offers) {
      const calling = offer.call(visit, name, input, watch)
      if (calling !== null) return calling
    }
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool '${name.slice(0, 64)}'`)
  }

  mcp.server.setRequestHandler('tools/list', async () => {
    try {
      const lists = await Promise.all(offers.map((offer) => offer.list(visit)))
      return { tools: lists.flat() }
    } catch (error) {
      throw new ProtocolError(ProtocolErrorCode.InternalError, visit.problemOf(error).title)
    }
  })
  mcp.server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const { _meta: { progressToken: token } = {} } = mcpReq
    const tell = (told: ToldProgress) => mcpReq.notify({ method: 'notifications/progress', params: { ...told, progressToken: token } })
    const heard =
      token === undefined
        ? {}
        : { onOutput: outputProgress((progress, message) => tell({ progress, message })), onProgress: passedProgress(tell) }
    const call = visit.underWay(mcpReq.id)
    const allowed = whileAllowed({ signal: AbortSignal.any([mcpReq.signal, call.signal]), recheck: visit.recheck })
    try {
      return await called(params.name, params.arguments ?? {}, { signal: allowed.signal, ...heard })
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      const { title, code, hint } = visit.problemOf(error)
      return toldResult({ ok: false, error: title, code, hint })
    } finally {
      allowed.release()
      call.end()
    }
  })
  return mcp
}
