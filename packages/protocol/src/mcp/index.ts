/** MCP servers in boxes, written once: their configuration as other programs write it, and what is shown of them. */
export { DEFAULT_STARTUP_SECONDS, MAXIMUM_STARTUP_SECONDS, McpBoxConfig } from './box-config.ts'
export { WORKSPACE_FOLDER } from './environment.ts'
export { MCP_SCOPES, McpScope, McpServerConfig, McpToolChoice } from './server-config.ts'
export type { McpServerConfigInput } from './server-config.ts'
export { McpServerName } from './server-name.ts'
export {
  MCP_HEALTHS,
  MCP_PHASES,
  MCP_RUN_STATES,
  McpHealth,
  McpPhase,
  McpRunError,
  McpRunState,
  McpRunView,
  McpServerConfigView,
  McpServerView,
} from './server-view.ts'
export { MAXIMUM_MCP_SERVERS, McpServersDocument } from './servers-document.ts'
export type { McpServersDocumentInput } from './servers-document.ts'
export {
  CallMcpToolBody,
  MCP_LOG_SOURCES,
  McpLogLine,
  McpLogs,
  McpProgressEvent,
  McpServerList,
  McpToolName,
  McpToolResult,
  McpToolView,
  StartedMcpServer,
  StartMcpServerBody,
} from './server-use.ts'
export type { CallMcpToolBodyInput, StartMcpServerBodyInput } from './server-use.ts'
