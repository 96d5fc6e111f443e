/**
 * MCP servers that run in boxes: which are configured, how their processes are, and calls of their tools.
 *
 * A configuration is written as in the `mcpServers` of Claude, Cursor and VS Code. Tools and results are left as the server says them.
 */
import type { McpLogs as WireLogs, McpRunView, McpServerList, McpServerView, StartedMcpServer as WireStarted } from '@holdfast/protocol/mcp'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { parsed } from './exec.ts'
import type { SessionName } from './session-wishes.ts'
import { errorOfEvent } from './transport/problem.ts'
import { unreachable } from './transport/transport.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

/** For dependencies that are installed first. */
const PREPARATION_MS = 900_000

export type McpScope = 'session' | 'pipeline' | 'tenant' | 'shared'
export type McpPhase =
  | 'session_create'
  | 'dep_install'
  | 'process_start'
  | 'relay_connect'
  | 'mcp_init'
  | 'runtime'
  | 'tool_call'
  | 'box_unavailable'

/** As `mcpServers` has it; what other programs keep in it for themselves is ignored. */
export interface McpServerConfig {
  readonly command: string
  readonly args?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string | number | null>> | undefined
  readonly cwd?: string | undefined
  readonly disabled?: boolean | undefined
  /** Who shares one process; `session` unless given: the conversation, in whose box it runs. */
  readonly scope?: McpScope | undefined
  readonly tools?: { readonly allow?: readonly string[] | undefined; readonly deny?: readonly string[] | undefined } | undefined
  /** The sandbox that it runs in, in the names of the wire: `image`, `network`, `host_path`, `memory_mb`, … */
  readonly box?: Readonly<Record<string, unknown>> | undefined
}

export interface McpRun {
  /** What its clients have in common. */
  readonly scopeKey: string
  readonly sessionId: string | null
  /** The name of the process in its session. */
  readonly process: string | null
  readonly phase: McpPhase
  readonly state: 'starting' | 'ready' | 'failed' | 'stopped'
  readonly error: { readonly phase: McpPhase; readonly code: string; readonly message: string; readonly hint: string } | null
  /** Starts that failed since the last that did not. */
  readonly attempts: number
  readonly pid: number | null
  readonly startedAt: string
  readonly readyAt: string | null
  /** Whether it answered when it was asked last; `busy`: not, with a call under way. */
  readonly health: 'answering' | 'busy' | 'silent' | null
  readonly checkedAt: string | null
  readonly protocolVersion: string | null
  readonly serverInfo: Readonly<Record<string, unknown>> | null
  /** How many it offers. */
  readonly tools: number | null
  readonly clients: number
}

export interface McpServerRecord {
  readonly name: string
  readonly scope: McpScope
  readonly command: string
  readonly args: readonly string[]
  /** Values are never shown. */
  readonly envKeys: readonly string[]
  readonly cwd: string | null
  readonly box: Readonly<Record<string, unknown>>
  readonly tools: { readonly allow?: readonly string[] | undefined; readonly deny?: readonly string[] | undefined }
  readonly disabled: boolean
  readonly createdAt: string
  readonly updatedAt: string
  readonly runs: readonly McpRun[]
}

/** As the server describes it. */
export interface McpTool {
  readonly name: string
  readonly [field: string]: unknown
}

export interface StartedMcpServer {
  readonly run: McpRun
  readonly tools: readonly McpTool[]
}

export interface McpLog {
  readonly scopeKey: string
  readonly sessionId: string | null
  readonly lines: readonly { readonly at: string | null; readonly source: 'holdfast' | 'stdout' | 'stderr'; readonly text: string }[]
}

/** `isError` when the tool failed; the rest is the server's. */
export interface McpToolResult {
  readonly content?: readonly { readonly type: string; readonly [field: string]: unknown }[]
  readonly isError?: boolean
  readonly [field: string]: unknown
}

/** The conversation in whose box it runs; one that a tenant shares needs none. */
export interface McpUseOptions extends CallOptions, SessionName {
  readonly sessionId?: string | undefined
  readonly pipeline?: string | undefined
  readonly profile?: string | undefined
}

export interface McpServers {
  list(options?: CallOptions): Promise<readonly McpServerRecord[]>
  get(name: string, options?: CallOptions): Promise<McpServerRecord>
  /** What runs by its configuration before is ended. */
  put(name: string, config: McpServerConfig, options?: CallOptions): Promise<McpServerRecord>
  /** All servers of a configuration file; others stay. */
  putAll(document: object, options?: CallOptions): Promise<readonly McpServerRecord[]>
  /** What runs of it is ended. */
  remove(name: string, options?: CallOptions): Promise<void>
  /** Ends whatever runs of it; the next call starts it anew. */
  restart(name: string, options?: CallOptions): Promise<McpServerRecord>
  logs(name: string, options?: CallOptions): Promise<readonly McpLog[]>
  /** Waits until it is ready, and tells what is done until then. */
  start(name: string, options?: McpUseOptions & { readonly onProgress?: ((line: string) => void) | undefined }): Promise<StartedMcpServer>
  call(server: string, tool: string, input?: object, options?: McpUseOptions): Promise<McpToolResult>
}

export function createMcpServers(transport: Transport): McpServers {
  const pathOf = (name: string) => `/v1/mcp/servers/${encodeURIComponent(name)}`
  const long = ({ signal, timeoutMs }: CallOptions) => callOf({ signal, timeoutMs: timeoutMs ?? PREPARATION_MS })

  return {
    list: async (options = {}) =>
      (await transport.json<McpServerList>({ path: '/v1/mcp/servers', ...callOf(options) })).items.map(serverRecord),
    get: async (name, options = {}) => serverRecord(await transport.json<McpServerView>({ path: pathOf(name), ...callOf(options) })),
    put: async (name, config, options = {}) =>
      serverRecord(await transport.json<McpServerView>({ method: 'PUT', path: pathOf(name), json: config, ...callOf(options) })),
    putAll: async (document, options = {}) =>
      (await transport.json<McpServerList>({ method: 'POST', path: '/v1/mcp/servers', json: document, ...callOf(options) })).items.map(
        serverRecord,
      ),
    remove: (name, options = {}) => transport.send({ method: 'DELETE', path: pathOf(name), ...callOf(options) }),
    restart: async (name, options = {}) =>
      serverRecord(await transport.json<McpServerView>({ method: 'POST', path: `${pathOf(name)}/restart`, json: {}, ...callOf(options) })),
    logs: async (name, options = {}) =>
      (await transport.json<WireLogs>({ path: `${pathOf(name)}/logs`, ...callOf(options) })).items.map((item) => camel(item)),
    async start(name, { onProgress, ...options } = {}) {
      const request = { method: 'POST', path: `${pathOf(name)}/start`, json: conversationOf(options) } as const
      if (onProgress === undefined) return startedServer(await transport.json<WireStarted>({ ...request, ...long(options) }))
      const answer = await transport.open({ ...request, headers: { accept: 'text/event-stream' }, isOnce: true, ...long(options) })
      try {
        for await (const { event, data } of answer.events()) {
          if (event === 'progress') onProgress(parsed<{ readonly line: string }>(data).line)
          else if (event === 'ready') return startedServer(parsed<WireStarted>(data))
          else if (event === 'error') throw errorOfEvent(data)
        }
      } finally {
        answer.close()
      }
      throw unreachable(transport.url, new Error('the stream ended before the MCP server was ready'))
    },
    call(server, tool, input = {}, options = {}) {
      const path = `${pathOf(server)}/tools/${encodeURIComponent(tool)}`
      const json = { ...conversationOf(options), arguments: input }
      // A tool may do something, and its server knows of no key by which it would not do it twice.
      return transport.json<McpToolResult>({ method: 'POST', path, json, isOnce: true, ...long(options) })
    },
  }
}

function conversationOf({ key, sessionId, scope, variables, missing, pipeline, profile }: McpUseOptions): object {
  return { ...snake({ sessionId, scope, variables, missing, pipeline, profile }), ...(key === undefined ? {} : { session: key }) }
}

function serverRecord({ name, scope, config, disabled, created_at, updated_at, runs }: McpServerView): McpServerRecord {
  const { command, args, env_keys: envKeys, cwd, box, tools } = config
  const record = { name, scope, command, args, envKeys, cwd, box, tools, disabled }
  return { ...record, createdAt: created_at, updatedAt: updated_at, runs: runs.map(runRecord) }
}

function runRecord(run: McpRunView): McpRun {
  return camel(run)
}

function startedServer({ run, tools }: WireStarted): StartedMcpServer {
  return { run: runRecord(run), tools }
}
