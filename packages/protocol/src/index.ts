/** The wire, written once: what clients and the server agree on. */
export { ERRORS, HoldfastError, isErrorCode, isHoldfastError } from './errors.ts'
export type { ErrorCode, ErrorSpec, Problem } from './errors.ts'
export { EVENT_TYPES, EventType, SessionEvent } from './events.ts'
export {
  CAPTURE_BYTES,
  DEFAULT_TIMEOUT_MS,
  ExecBody,
  ExecExitEvent,
  ExecOutputEvent,
  ExecResult,
  ExecStartedEvent,
  MAXIMUM_TIMEOUT_MS,
  SandboxWish,
  SessionView,
} from './exec.ts'
export type { ExecBodyInput } from './exec.ts'
export { fieldProblems, problemSentence } from './field-problems.ts'
export type { FieldProblem } from './field-problems.ts'
export { CreatedKeyView, CreateKeyBody, Group, Groups, KEY_KINDS, KeyView, MAXIMUM_GROUPS, ROLES, Subject } from './keys.ts'
export type { CreateKeyBodyInput, KeyKind, Role } from './keys.ts'
export { Cpus, LimitsWish, MemoryBytes, OpenFiles, Pids, TmpBytes } from './limits.ts'
export {
  LANGUAGES,
  MAXIMUM_KEY_LENGTH,
  MAXIMUM_TEMPLATE_LENGTH,
  MAXIMUM_VARIABLES,
  SCOPE_NAMES,
  ScopeRequest,
  ScopeText,
  SessionKey,
  VariableName,
} from './scopes.ts'
export type { Language, ScopeName } from './scopes.ts'
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
export { CreateTenantBody, DeadlineCeilings, TENANT_STATES, TenantName, TenantPolicy, TenantQuotas, TenantView } from './tenants.ts'
export type { CreateTenantBodyInput, QuotaName, TenantPolicyInput, TenantState } from './tenants.ts'
