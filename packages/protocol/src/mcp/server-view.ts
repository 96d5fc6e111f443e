/**
 * MCP servers as they are shown: what is configured, without a value of its environment, and how each of its processes is.
 */
import { z } from 'zod'
import { McpBoxConfig } from './box-config.ts'
import { McpScope, McpToolChoice } from './server-config.ts'
import { McpServerName } from './server-name.ts'

/** How far a start came, or where a failure belongs. */
export const MCP_PHASES = [
  'session_create',
  'dep_install',
  'process_start',
  'relay_connect',
  'mcp_init',
  'runtime',
  'tool_call',
  'box_unavailable',
] as const
export const McpPhase = z.enum(MCP_PHASES)
export type McpPhase = z.output<typeof McpPhase>

export const MCP_RUN_STATES = ['starting', 'ready', 'failed', 'stopped'] as const
export const McpRunState = z.enum(MCP_RUN_STATES)
export type McpRunState = z.output<typeof McpRunState>

/** `busy`: it did not answer, with a call under way. */
export const MCP_HEALTHS = ['answering', 'busy', 'silent'] as const
export const McpHealth = z.enum(MCP_HEALTHS)
export type McpHealth = z.output<typeof McpHealth>

export const McpRunError = z.object({ phase: McpPhase, code: z.string(), message: z.string(), hint: z.string() })
export type McpRunError = z.output<typeof McpRunError>

/** One process of a server, or the start of one. */
export const McpRunView = z.object({
  /** What its clients have in common; of scope `session` the conversation's key. */
  scope_key: z.string(),
  /** `null` before there is one. */
  session_id: z.string().nullable(),
  /** The name of the process in its session. */
  process: z.string().nullable(),
  phase: McpPhase,
  state: McpRunState,
  error: McpRunError.nullable(),
  /** Starts that failed since the last that did not. */
  attempts: z.int(),
  pid: z.int().nullable(),
  started_at: z.iso.datetime(),
  ready_at: z.iso.datetime().nullable(),
  /** What it made of the last question whether it is there; `null` where it is not ready. */
  health: McpHealth.nullable(),
  checked_at: z.iso.datetime().nullable(),
  protocol_version: z.string().nullable(),
  server_info: z.record(z.string(), z.unknown()).nullable(),
  /** How many it offers; `null` before it was asked. */
  tools: z.int().nullable(),
  /** How many are connected. */
  clients: z.int(),
})
export type McpRunView = z.output<typeof McpRunView>

const EnvironmentKeys = z.array(z.string()).meta({ description: 'Names of variables; their values are never shown.' })

export const McpServerConfigView = z.object({
  command: z.string(),
  args: z.array(z.string()),
  env_keys: EnvironmentKeys,
  cwd: z.string().nullable(),
  box: z.object({ ...McpBoxConfig.omit({ env: true }).shape, env_keys: EnvironmentKeys }),
  tools: McpToolChoice,
})
export type McpServerConfigView = z.output<typeof McpServerConfigView>

export const McpServerView = z.object({
  name: McpServerName,
  scope: McpScope,
  config: McpServerConfigView,
  disabled: z.boolean(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  runs: z.array(McpRunView),
})
export type McpServerView = z.output<typeof McpServerView>
