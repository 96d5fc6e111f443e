/**
 * The one error of this package: what the server refused, or why it could not be asked.
 *
 * Programs compare `code`. The class is for `catch` and stack traces; two copies of this package in one tree do no harm.
 */

/** What a server answers; a test compares the list with the server's own table. */
export const SERVER_ERROR_CODES = [
  'invalid_request',
  'invalid_page_token',
  'backend_unknown',
  'config_invalid',
  'profile_unknown',
  'pipeline_unknown',
  'mount_refused',
  'unauthorized',
  'forbidden',
  'profile_locked',
  'origin_refused',
  'host_refused',
  'not_found',
  'method_not_allowed',
  'session_incompatible',
  'session_closed',
  'session_busy',
  'session_held',
  'invalid_state',
  'incarnation_changed',
  'version_conflict',
  'request_in_progress',
  'outcome_unknown',
  'not_interactive',
  'execution_ended',
  'input_uncertain',
  'read_only',
  'profile_in_use',
  'name_taken',
  'home_locked',
  'cursor_expired',
  'sandbox_gone',
  'payload_too_large',
  'session_elsewhere',
  'answer_not_kept',
  'idempotency_key_reused',
  'capability_unsupported',
  'image_missing',
  'command_not_started',
  'dependencies_failed',
  'file_not_found',
  'file_forbidden',
  'file_exists',
  'file_operation_failed',
  'no_space',
  'range_not_satisfiable',
  'request_stalled',
  'connection_refused',
  'process_unknown',
  'upgrade_required',
  'precondition_required',
  'identity_provider_unavailable',
  'backend_unavailable',
  'server_busy',
  'server_stopping',
  'listen_failed',
  'server_unreachable',
  'session_unavailable',
  'store_unavailable',
  'store_full',
  'store_corrupt',
  'store_too_new',
  'rate_limited',
  'quota_exceeded',
  'capacity_exhausted',
  'guest_protocol_violated',
  'guest_unreachable',
  'headers_too_large',
  'preview_failed',
  'mcp_server_exited',
  'mcp_init_failed',
  'mcp_message_too_large',
  'mcp_request_timed_out',
  'mcp_tool_denied',
  'mcp_server_disabled',
  'mcp_call_refused',
  'request_cancelled',
  'internal',
] as const

/** What only a client can see: no answer in time; an answer that is none of Holdfast's; a file that changed while it was read. */
export const CLIENT_ERROR_CODES = ['request_timed_out', 'invalid_answer', 'file_changed'] as const

type KnownErrorCode = (typeof SERVER_ERROR_CODES)[number] | (typeof CLIENT_ERROR_CODES)[number]
/** One of the known codes, or one that a newer server has. */
export type ErrorCode = KnownErrorCode | (string & Record<never, never>)

/** `after-delay`: the same call may work later. `after-change`: another call may work. */
export type RetryAdvice = 'never' | 'after-delay' | 'after-change'

export interface ErrorFacts {
  readonly code: ErrorCode
  readonly message: string
  readonly status?: number
  readonly retry?: RetryAdvice
  readonly hint?: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly requestId?: string | null
}

/** Everything that this package throws by itself; only the reason of your own `signal` is thrown as it is. */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError'
  /** Stable: compare this. */
  readonly code: ErrorCode
  /** Of the answer; 0 when there was none. */
  readonly status: number
  readonly retry: RetryAdvice
  /** What to do about it. */
  readonly hint: string
  readonly details: Readonly<Record<string, unknown>>
  /** The server's log has more under this id; `null` when it was not reached. */
  readonly requestId: string | null

  constructor(
    { code, message, status = 0, retry = 'never', hint = '', details = {}, requestId = null }: ErrorFacts,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = code
    this.status = status
    this.retry = retry
    this.hint = hint
    this.details = details
    this.requestId = requestId
  }
}

/** Whether it is an error of this package, with one of these codes if there are any. */
export function isHoldfastError(error: unknown, ...codes: readonly ErrorCode[]): error is HoldfastError {
  if (!(error instanceof Error) || error.name !== 'HoldfastError' || !('code' in error)) return false
  return codes.length === 0 || codes.some((code) => code === error.code)
}
