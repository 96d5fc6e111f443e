/** The client of Holdfast: what a program imports. */
export type { Audit, AuditedState, AuditPlace, AuditRecord, AuditVerdict } from './audit.ts'
export type { CallOptions, StreamOptions } from './call-options.ts'
export type { CommandExit, CommandResult, ExecutionCause, ExecutionStatus } from './command-result.ts'
export type { Command, CommandWish } from './command-wish.ts'
export type { Commands, RunOptions, StartOptions } from './commands.ts'
export { CLIENT_ERROR_CODES, HoldfastError, isHoldfastError, SERVER_ERROR_CODES } from './errors.ts'
export type { ErrorCode, ErrorFacts, RetryAdvice } from './errors.ts'
export type { EventOptions, SessionEvent } from './events.ts'
export type { ExecOptions } from './exec.ts'
export type { Execution, KillOptions, OutputCallbacks, OutputOptions } from './execution.ts'
export type { OutputEvent, OutputExit, OutputGap, OutputPiece } from './execution-output.ts'
export type { ExecutionRecord, Killed } from './execution-record.ts'
export type { FileEntry, FileType } from './file-entry.ts'
export type { ReadOptions } from './file-reading.ts'
export type { FileChange, FileChangeType, WatchOptions } from './file-watching.ts'
export type { FileLink, FileList, Files, ListFilesOptions, WriteOptions } from './files.ts'
export { Holdfast } from './holdfast.ts'
export type { HoldfastOptions } from './holdfast.ts'
export type { Content } from './input.ts'
export type { CreatedKey, CreateKeyOptions, KeyRecord, Keys, KeyUsers, Role } from './keys.ts'
export type { List, Page, PagingOptions } from './lists.ts'
export type { AttachOptions, ProcessConnection } from './process-connection.ts'
export type {
  McpLog,
  McpPhase,
  McpRun,
  McpScope,
  McpServerConfig,
  McpServerRecord,
  McpServers,
  McpTool,
  McpToolResult,
  McpUseOptions,
  StartedMcpServer,
} from './mcp.ts'
export type { Pipeline, Pipelines, PipelinesApi, PipelineSettings } from './pipelines.ts'
export type { Preview, PreviewOptions } from './previews.ts'
export type {
  CredentialForm,
  CredentialRecord,
  Credentials,
  PutCredentialOptions,
  RemoveCredentialOptions,
  RemovedCredential,
} from './credentials.ts'
export type { Process, Processes, ProcessOptions, ProcessRecord, RestartPolicy, RestartRules } from './processes.ts'
export type { DefinitionFacts, Profile, Profiles, ProfilesApi, ProfileSettings } from './profiles.ts'
export type { Backend, BackendCapabilities, ErrorKind, Health, Quotas, SandboxRecord, Scopes, ServerClock } from './server-facts.ts'
export type { RefreshOptions, ReleaseOptions, Session, SuspendOptions, TransferOptions, UpdateOptions, VersionOptions } from './session.ts'
export type { SandboxLimits, SessionRecord, SessionState, SessionView, WorkspaceVerdict } from './session-record.ts'
export type { LimitsWish, MountWish, SandboxWish, SessionName, SessionTimes, SessionWish, WorkspaceWish } from './session-wishes.ts'
export type { GetOrCreateOptions, SessionFilter, Sessions } from './sessions.ts'
export type { Skill, SkillArchiveOptions, SkillFields, SkillFile, SkillFileList, SkillInArchive, SkillRecord, Skills } from './skills.ts'
export type { DeadlineCeilings, TenantPolicy, TenantQuotas, TenantRecord, Tenants } from './tenants.ts'
export type { Terminal, TerminalSize } from './terminal.ts'
export type { ConnectOptions, CreateTerminalOptions, Terminals } from './terminals.ts'
export type { FunctionTool, SessionTools, Tool, ToolCallOptions, ToolResult, Tools } from './tools.ts'
export type { CreatedWebhook, WebhookRecord, Webhooks } from './webhooks.ts'
