/**
 * MCP servers in use without an MCP client: started with word of its progress, called, restarted, and their logs.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import {
  CallMcpToolBody,
  McpLogs,
  McpServerName,
  McpServerView,
  McpToolName,
  McpToolResult,
  StartedMcpServer,
  StartMcpServerBody,
} from '@holdfast/protocol/mcp'
import { z } from 'zod'
import { isAuthorized } from '../../access/authorize.ts'
import { boxCaller } from '../../mcp/run/box-caller.ts'
import { listTools } from '../../mcp/run/list-tools.ts'
import type { OpenedMcpServer } from '../../mcp/run/mcp-runs.ts'
import { readLogs } from '../../mcp/run/read-logs.ts'
import { LARGE_MEMBERS, parsedMembers } from '../../mcp/share/large-json.ts'
import type { ServerRun } from '../../mcp/run/server-run.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { callServer } from '../mcp/http/server-call.ts'
import { mayUse } from '../mcp/http/tool-rules.ts'
import { START_ERRORS } from './commands.ts'
import { followedStream, wantsEvents } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { askedFor } from './mcp-conversation.ts'
import { OneServer } from './mcp-routes.ts'
import type { McpRoutesNeeds } from './mcp-routes.ts'
import { serverView, visibleRuns } from './mcp-views.ts'
import { json, route } from './route.ts'
import type { Call, Entered, Route } from './route.ts'
import { CREATE_ERRORS } from './session-requests.ts'
import type { KeyNeeds } from './session-requests.ts'
import { whileAllowed } from './while-allowed.ts'

export interface McpUseRoutesNeeds extends McpRoutesNeeds, KeyNeeds {
  readonly sessions: Pick<Sessions, 'processes' | 'commands'>
}

const OPEN_ERRORS: readonly ErrorCode[] = [
  ...CREATE_ERRORS,
  ...START_ERRORS,
  'not_found',
  'mcp_server_disabled',
  'mcp_server_exited',
  'mcp_init_failed',
  'mcp_request_timed_out',
  'mcp_message_too_large',
  'mcp_call_refused',
  'dependencies_failed',
  'payload_too_large',
  'no_space',
]
const OneTool = z.strictObject({ name: McpServerName, tool: McpToolName })
/** Processes whose logs are read at once. */
const MAXIMUM_LOGS = 20
/** Lines of progress that wait for a slow reader; more are left out. */
const MAXIMUM_WAITING = 100

export function mcpUseRoutes(needs: McpUseRoutesNeeds): readonly Route[] {
  const { servers, runs, sessions } = needs

  interface Asked extends Entered {
    readonly params: { readonly name: string }
    readonly body: StartMcpServerBody
  }

  const open = async ({ caller, params, body }: Asked, signal: AbortSignal, onProgress?: (line: string) => void) =>
    runs.open({ caller, name: params.name, ...(await askedFor(body, needs, caller)), onProgress }, signal)

  async function started({ server, shared, run }: OpenedMcpServer, signal: AbortSignal): Promise<StartedMcpServer> {
    const tools = (await listTools(shared, signal)).filter(({ name }) => mayUse(server.config.tools, name))
    return { run: await runs.view(run), tools }
  }

  async function tell(stream: EventStream, call: Asked, signal: AbortSignal): Promise<void> {
    let waiting = 0
    const opened = await open(call, signal, (line) => {
      if (waiting >= MAXIMUM_WAITING) return
      waiting += 1
      void stream.send({ event: 'progress', data: { line } }).then(() => (waiting -= 1))
    })
    await stream.send({ event: 'ready', data: await started(opened, signal) })
  }

  async function called({ server, shared }: OpenedMcpServer, tool: string, input: object, signal: AbortSignal): Promise<McpToolResult> {
    const client = shared.connect({ info: { name: 'holdfast-rest', version: '1' }, capabilities: {}, onNotification: () => undefined })
    try {
      const asked = { method: 'tools/call', params: { name: tool, arguments: input } }
      const reply = await callServer(client, server.config.tools, asked, { signal })
      if ('result' in reply) return reply.result
      const { code, message } = reply.error
      throw new HoldfastError('mcp_call_refused', `the MCP server refused the call: ${message.slice(0, 1_000)}`, {
        ...{ phase: 'tool_call', server: server.name, tool, rpc_code: code },
      })
    } finally {
      client.close()
    }
  }

  /** What runs in a box of the server's own is read by those who manage it. */
  function readerOf({ caller, principal }: Entered, { place, server }: ServerRun) {
    if (place.scope === 'session') return caller
    return isAuthorized(principal, 'manage-mcp') ? boxCaller(server.tenantId) : null
  }

  async function logs(call: Call<{ readonly name: string }, unknown, unknown>): Promise<McpLogs> {
    const server = await servers.get(call.principal.tenantId, call.params.name)
    const items: McpLogs['items'] = []
    if (server.tenantId !== call.principal.tenantId) return { items }
    for (const run of await visibleRuns(needs, server, call, MAXIMUM_LOGS)) {
      const reader = readerOf(call, run)
      if (reader === null || (run.session !== null && !reader.may('read-output', run.session))) continue
      const { scope_key, session_id } = run.view()
      items.push({ scope_key, session_id, lines: await readLogs(sessions, reader, run) })
    }
    return { items }
  }

  return [
    route({
      method: 'GET',
      path: '/v1/mcp/servers/{name}/logs',
      summary: 'Read what is told of an MCP server: what was done with it, its stderr, and what it printed that is no message',
      authorization: 'read-mcp',
      params: OneServer,
      answers: { 200: json('McpLogs', McpLogs, 'The newest lines of each of its processes that the caller may read') },
      errors: ['forbidden', 'not_found'],
      handle: async (call) => ({ status: 200, body: await logs(call) }),
    }),
    route({
      method: 'POST',
      path: '/v1/mcp/servers/{name}/start',
      summary: 'Have an MCP server ready, and see what it offers',
      authorization: 'exec',
      params: OneServer,
      body: StartMcpServerBody,
      answers: { 200: json('StartedMcpServer', StartedMcpServer, 'It answers', 'progress, then ready or error') },
      errors: OPEN_ERRORS,
      async handle(call) {
        if (wantsEvents(call)) return followedStream(call, (stream, signal) => tell(stream, call, signal))
        return { status: 200, body: await started(await open(call, call.signal), call.signal) }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/mcp/servers/{name}/restart',
      summary: 'End whatever runs of an MCP server and forget its failures; the next call starts it anew',
      authorization: 'manage-mcp',
      params: OneServer,
      answers: { 200: json('McpServer', McpServerView, 'Nothing of it runs any more') },
      errors: ['forbidden', 'not_found'],
      isRepeatable: true,
      async handle(call) {
        const server = await servers.get(call.principal.tenantId, call.params.name)
        if (server.tenantId !== call.principal.tenantId)
          throw new HoldfastError('forbidden', 'this MCP server is shared by all tenants; only the one that has it may restart it')
        await runs.retire(server)
        return { status: 200, body: await serverView(needs, server, call) }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/mcp/servers/{name}/tools/{tool}',
      summary: 'Call a tool of an MCP server',
      authorization: 'exec',
      params: OneTool,
      body: CallMcpToolBody,
      maximumMembers: LARGE_MEMBERS,
      answers: { 200: json('McpToolResult', McpToolResult, 'What the tool gave; `isError` when it failed') },
      errors: [...OPEN_ERRORS, 'mcp_tool_denied'],
      async handle(call) {
        const { signal, release } = whileAllowed(call)
        try {
          const result = await called(await open(call, signal), call.params.tool, call.body.arguments, signal)
          // A stored answer has to be read; any other is passed on as text where it is large.
          return { status: 200, body: call.header('idempotency-key') === undefined ? result : parsedMembers(result) }
        } finally {
          release()
        }
      },
    }),
  ]
}
