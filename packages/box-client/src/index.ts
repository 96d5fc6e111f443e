/** The Box client: what a TypeScript host imports. */
export { BoxError, isBoxError } from '@holdfast/protocol/box'
export type {
  BoxContext,
  BoxErrorClass,
  BoxExecutionResult,
  BoxManagedProcessInfo,
  BoxMountSpec,
  BoxSessionInfo,
  BoxSpec,
  SkillInfo,
  SkillPreview,
} from '@holdfast/protocol/box'
export type { AskOptions } from './calls/ask.ts'
export { createBoxClient } from './calls/box-client.ts'
export type { BoxClient } from './calls/box-client.ts'
export type { AdmissionGrant, RuntimeStatus } from './calls/control-calls.ts'
export type { Call, CallOptions } from './calls/rpc.ts'
export type { BoxManagedProcessSpecInput, BoxSpecInput } from './calls/session-calls.ts'
export type { SkillChangeInput, SkillFilesOptions, SkillZipOptions } from './calls/skill-calls.ts'
export { systemClock } from './clock.ts'
export type { BoxClock } from './clock.ts'
export { createBoxConnector } from './connector/connector.ts'
export type { BoxConnector, BoxConnectorOptions, ConnectorEvent, ConnectorState } from './connector/connector.ts'
export type { BoxTarget } from './connector/target.ts'
export type { BoxLog } from './log.ts'
export type { BoxFile, Outbound } from './service/attachments.ts'
export type { Availability } from './service/availability.ts'
export type { BoxErrorRecord } from './service/error-ring.ts'
export { BUILT_IN_PROFILES } from './service/profiles.ts'
export type { BoxProfile, ProfileField } from './service/profiles.ts'
export { createBoxService } from './service/service.ts'
export type { BoxService, BoxServiceOptions, RelayAddress, ServiceQuery } from './service/service.ts'
export type { BoxQuery } from './service/session-id.ts'
export type { BoxSkills } from './service/skills.ts'
export type { BackendStatus, BoxServiceStatus } from './service/status.ts'
export type { ExecToolResult, ToolDefinition } from './service/tools.ts'
export { boxStatusRoutes } from './status-routes.ts'
export type { StatusRoutesOptions } from './status-routes.ts'
export { boxEndpoint } from './transports/endpoint.ts'
export type { BoxEndpoint } from './transports/endpoint.ts'
export { stdioTransport } from './transports/stdio-transport.ts'
export type { StdioCommand } from './transports/stdio-transport.ts'
export type { BoxTransport, OpenTransport } from './transports/transport.ts'
export { webSocketTransport } from './transports/web-socket-transport.ts'
export type { WebSocketAddress } from './transports/web-socket-transport.ts'
