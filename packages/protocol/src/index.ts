/** The wire, written once: what clients and the server agree on. */
export { AuditPage, AuditQuery, AuditRecordView, AuditVerdict, VerifyAuditBody } from './audit.ts'
export { MAXIMUM_TIMEOUT_MS } from './commands.ts'
export {
  CREDENTIAL_FORMS,
  CredentialList,
  CredentialName,
  CredentialView,
  MAXIMUM_CREDENTIAL_BYTES,
  MAXIMUM_CREDENTIAL_ENV_BYTES,
  MAXIMUM_CREDENTIALS,
  PutCredentialBody,
  RemoveCredentialQuery,
  RemovedCredentialView,
} from './credentials.ts'
export type { CredentialForm } from './credentials.ts'
export { ERRORS, HoldfastError, isErrorCode, isHoldfastError } from './errors.ts'
export type { ErrorCode, ErrorSpec, Problem } from './errors.ts'
export { SessionEventsPage, SessionEventsQuery, TenantEventsPage, TenantEventsQuery } from './event-pages.ts'
export { EVENT_TYPES, EventType, SessionEvent } from './events.ts'
export {
  CAPTURE_BYTES,
  DEFAULT_TIMEOUT_MS,
  ExecBody,
  ExecExitEvent,
  ExecOutputEvent,
  ExecResult,
  ExecStartedEvent,
  SessionView,
} from './exec.ts'
export type { ExecBodyInput } from './exec.ts'
export { CAUSE_CODES, ExecutionCause } from './execution-cause.ts'
export type { CauseCode } from './execution-cause.ts'
export {
  CancelExecutionBody,
  ExecutionView,
  InputBody,
  ExecutionOutputEvent,
  MAXIMUM_OUTPUT_BYTES,
  OutputPageView,
  OutputPieceView,
  OutputQuery,
  ResizeBody,
  SignalBody,
  StartExecutionBody,
} from './executions.ts'
export { fieldProblems, MAXIMUM_PROBLEMS, problemSentence } from './field-problems.ts'
export type { FieldProblem } from './field-problems.ts'
export {
  DEFAULT_LIST_LIMIT,
  FILE_TYPES,
  FileListView,
  FileMode,
  FilePath,
  CreateFileLinkBody,
  FileLinkView,
  FileQuery,
  ReadFileQuery,
  FileView,
  ListFilesQuery,
  MakeDirectoryBody,
  MAXIMUM_LIST_DEPTH,
  MAXIMUM_LIST_LIMIT,
  MAXIMUM_PATH_BYTES,
  MoveFileBody,
  RemoveFileQuery,
  StatFileQuery,
  WATCH_EVENTS,
  WatchEventView,
  WatchFilesQuery,
  WriteFileQuery,
} from './files.ts'
export {
  ADMIN_SUBJECT,
  CreatedKeyView,
  CreateKeyBody,
  GivenKeyUsers,
  Group,
  Groups,
  isNeverSpokenFor,
  KEY_KINDS,
  KeyUsers,
  KeyView,
  MAXIMUM_GROUPS,
  OIDC_SUBJECTS,
  OWN_SUBJECTS,
  ROLES,
  Subject,
  USER_SEPARATOR,
} from './keys.ts'
export type { CreateKeyBodyInput, KeyKind, Role } from './keys.ts'
export { Cpus, LimitsWish, MemoryBytes, OpenFiles, Pids, TmpBytes, WorkspaceBytes } from './limits.ts'
export { DEFAULT_PAGE_SIZE, MAXIMUM_PAGE_SIZE, pageOf, PageSize, PagingShape, queryNumber } from './paging.ts'
export { CreatePipelineBody, MAXIMUM_PIPELINE_SKILLS, PipelineList, PipelineSettings, PipelineView } from './pipelines.ts'
export type { CreatePipelineBodyInput, PipelineSettingsInput } from './pipelines.ts'
export { CreatePreviewBody, InnerPort, MAXIMUM_PORT, MAXIMUM_PREVIEW_TTL_SECONDS, PREVIEW_TTL_SECONDS, PreviewView } from './previews.ts'
export { ErrorRow, ErrorTable, ProblemDocument } from './problems.ts'
export { ATTACH_MODES, AttachMessage, AttachOrder, AttachQuery, PROCESS_PROTOCOL } from './process-attachments.ts'
export type { AttachMode } from './process-attachments.ts'
export {
  MAXIMUM_BACKOFF_MS,
  ProcessDetails,
  ProcessList,
  ProcessName,
  ProcessView,
  RESTART_POLICIES,
  RestartRules,
  StartProcessBody,
  STDERR_TAIL_BYTES,
  StopProcessQuery,
} from './processes.ts'
export type { RestartPolicy } from './processes.ts'
export { CreateProfileBody, DEFINITION_SOURCES, LOCKABLE_FIELDS, ProfileList, ProfileSettings, ProfileView } from './profiles.ts'
export type { CreateProfileBodyInput, DefinitionSource, LockableField, ProfileSettingsInput } from './profiles.ts'
export {
  DEFAULT_WORKSPACE,
  HOME,
  HOME_KINDS,
  MAXIMUM_MOUNTS,
  MOUNT_MODES,
  MountWish,
  ROOT_KINDS,
  SANDBOX_USERS,
  SandboxWish,
  WORKSPACE_MODES,
  WorkspaceWish,
} from './sandbox-wish.ts'
export type { HomeKind, RootKind, SandboxUserKind, WorkspaceMode } from './sandbox-wish.ts'
export { ListSandboxesQuery, SANDBOX_STATES, SandboxView } from './sandboxes.ts'
export type { SandboxState } from './sandboxes.ts'
export {
  LANGUAGES,
  MAXIMUM_KEY_LENGTH,
  MAXIMUM_TEMPLATE_LENGTH,
  MAXIMUM_VARIABLES,
  SCOPE_NAMES,
  MISSING_RULES,
  ScopeRequest,
  ScopeText,
  SessionKey,
  VariableName,
} from './scopes.ts'
export type { Language, MissingRule, ScopeName } from './scopes.ts'
export {
  BackendList,
  BackendView,
  ClockView,
  HealthView,
  QuotaList,
  QuotasQuery,
  ReadyView,
  ScopeList,
  ScopesQuery,
} from './server-facts.ts'
export {
  AcceptTransferBody,
  CancelWorkBody,
  CreateSessionBody,
  HoldSessionBody,
  KilledView,
  ListSessionsQuery,
  MAXIMUM_WAIT_MS,
  RefreshSessionBody,
  ReleaseSessionBody,
  ResetHomeBody,
  SessionRecord,
  SuspendSessionBody,
  TransferSessionBody,
  UpdateSessionBody,
} from './sessions.ts'
export type { CreateSessionBodyInput } from './sessions.ts'
export {
  CLOSE_REASONS,
  CLOSED_STATES,
  DEADLINES,
  EXECUTION_STATUSES,
  LIVE_STATES,
  PENDING_REASONS,
  SESSION_STATES,
  SUSPEND_REASONS,
  WORKSPACE_VERDICTS,
} from './session-words.ts'
export type {
  ClosedState,
  CloseReason,
  Deadline,
  ExecutionStatus,
  LiveState,
  PendingReason,
  SessionState,
  SuspendReason,
  WorkspaceVerdict,
} from './session-words.ts'
export {
  CreateSkillBody,
  InstallSkillsQuery,
  ListSkillFilesQuery,
  MAXIMUM_SKILL_ARCHIVE_BYTES,
  MAXIMUM_SKILL_TEXT_BYTES,
  PreviewSkillsQuery,
  SkillFileList,
  SkillFileQuery,
  SkillFileView,
  SkillList,
  SkillName,
  SkillPreview,
  SkillPreviewList,
  SkillSummary,
  SkillView,
  UpdateSkillBody,
  WrittenSkillFile,
} from './skills.ts'
export {
  CreateTenantBody,
  DeadlineCeilings,
  ProfileName,
  TENANT_STATES,
  TenantName,
  TenantPolicy,
  TenantQuotas,
  TenantView,
} from './tenants.ts'
export type { CreateTenantBodyInput, QuotaName, TenantPolicyInput, TenantState } from './tenants.ts'
export {
  DEFAULT_COLS,
  DEFAULT_ROWS,
  KEY_PROTOCOL_PREFIX,
  SignalName,
  TERMINAL_PROTOCOL,
  TerminalMessage,
  TerminalOrder,
  TerminalQuery,
  TerminalSize,
} from './terminals.ts'
export {
  MAXIMUM_TOOL_READ_LINES,
  OpenAiTool,
  TOOL_FORMATS,
  TOOL_NAMES,
  TOOL_OUTPUT_CHARACTERS,
  TOOL_PATTERN_CHARACTERS,
  TOOL_READ_LINES,
  TOOL_RESULT_BYTES,
  TOOL_SHAPES,
  TOOL_TIMEOUT_SECONDS,
  ToolCallBody,
  ToolDefinition,
  ToolFailure,
  ToolProgressEvent,
  ToolList,
  ToolsQuery,
} from './tools.ts'
export type { ToolCallBodyInput, ToolInput, ToolName, ToolResult } from './tools.ts'
export { CreatedWebhookView, CreateWebhookBody, WebhookList, WebhookView } from './webhooks.ts'
