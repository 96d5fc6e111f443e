/**
 * Tools of MCP servers in boxes beside our own, each under its server's name: `<server>__<tool>`.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * A server that does not start in time, or not at all, is left out of the list, and says why when one of its tools is called.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { isCallToolResult, isSpecType } from '@modelcontextprotocol/server'
import { allTools } from '../../mcp/run/list-tools.ts'
import { parsedMembers } from '../../mcp/share/large-json.ts'
import type { Reply } from '../../mcp/share/message.ts'
import type { SharedClient } from '../../mcp/share/shared-clients.ts'
import type { Log } from '../../telemetry/log.ts'
import type { OpenedServer } from './http/gateway-visit.ts'
import { withoutParamHeaders } from './http/param-headers.ts'
import { callServer } from './http/server-call.ts'
import type { ToolRules } from './http/tool-rules.ts'
import type { ToolOffer, ToolVisit, ToolWatch } from './our-tools/tool-offer.ts'

const SEPARATOR = '__'
/** At `/mcp/{server}` answers may be larger: there they are passed on unread. */
const MAXIMUM_ANSWER_BYTES = 4 * 1024 * 1024
const LIST_PATIENCE_MS = 10_000
/** A second one may do better: some servers end at a first word that they do not know. Clients do not wait long for a list. */
const LIST_TRIES = 2

export interface NamedServer {
  readonly name: string
  /** `tries`: how many that fail are waited for. */
  open(signal: AbortSignal, tries?: number): Promise<OpenedServer>
}

export interface ServerToolsNeeds {
  /** Those that this one may use, in this conversation. */
  servers(visit: ToolVisit): Promise<readonly NamedServer[]>
  readonly log: Log
  readonly listPatienceMs?: number
}

export function serverTools({ servers, log, listPatienceMs = LIST_PATIENCE_MS }: ServerToolsNeeds): ToolOffer {
  async function toolsOf({ name, open }: NamedServer): Promise<readonly Tool[]> {
    const signal = AbortSignal.timeout(listPatienceMs)
    const late = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => late.reject(signal.reason), { once: true })
    late.promise.catch(() => {})
    // What takes longer may go on: the next one who asks finds it started.
    const listed = withClient(
      (given) => open(given, LIST_TRIES),
      new AbortController().signal,
      (client, rules) => allTools((params) => callServer(client, rules, { method: 'tools/list', params }, { signal })),
    )
    listed.catch(() => {})
    try {
      const tools = await Promise.race([listed, late.promise])
      return tools.filter(isSpecType.Tool).map((tool) => shownUnder(name, tool))
    } catch (error) {
      log.info('mcp-tools-left-out', { server: name, code: isHoldfastError(error) ? error.code : 'timed_out' })
      return []
    }
  }

  async function called(visit: ToolVisit, name: string, input: unknown, { signal, onProgress }: ToolWatch): Promise<CallToolResult> {
    // A server's name may have the separator in it: the longest that fits is meant.
    const fitting = (await servers(visit)).filter((server) => name.startsWith(`${server.name}${SEPARATOR}`))
    const server = fitting.toSorted((first, second) => second.name.length - first.name.length)[0]
    if (server === undefined) throw new HoldfastError('not_found', `no MCP server has a tool ${JSON.stringify(name.slice(0, 128))}`)
    const tool = name.slice(server.name.length + SEPARATOR.length)
    // Any token will do: nobody else speaks for this client.
    const asked = { name: tool, arguments: input, ...(onProgress === undefined ? {} : { _meta: { progressToken: 0 } }) }
    const options = { signal, ...(onProgress === undefined ? {} : { onProgress }) }
    return withClient(server.open, signal, async (client, rules) =>
      resultOf(await callServer(client, rules, { method: 'tools/call', params: asked }, options)),
    )
  }

  return {
    async list(visit) {
      return (await Promise.all((await servers(visit)).map(toolsOf))).flat()
    },
    call: (visit, name, input, watch) => (name.includes(SEPARATOR) ? called(visit, name, input, watch) : null),
  }
}

function shownUnder(server: string, tool: Tool): Tool {
  const inputSchema = { ...withoutParamHeaders(tool.inputSchema), type: 'object' as const }
  return { ...tool, name: `${server}${SEPARATOR}${tool.name}`, inputSchema }
}

async function withClient<T>(
  open: NamedServer['open'],
  signal: AbortSignal,
  use: (client: SharedClient, rules: ToolRules) => Promise<T>,
): Promise<T> {
  const { server, tools = {} } = await open(signal)
  await server.initialized
  const client = server.connect({ info: { name: 'holdfast', version: '1' }, capabilities: {}, onNotification: () => {} })
  try {
    return await use(client, tools)
  } finally {
    client.close()
  }
}

/** What a model may hear of. */
function resultOf(reply: Reply): CallToolResult {
  // The library looks at all of it.
  const result = 'result' in reply ? parsedMembers(reply.result, MAXIMUM_ANSWER_BYTES) : null
  if (result !== null && isCallToolResult(result)) return result
  const text = 'error' in reply ? reply.error.message : 'the MCP server answered with something that is no result of a tool'
  return { content: [{ type: 'text', text }], isError: true }
}
