/**
 * The error table: every failure a caller can meet, once.
 *
 * A new failure is one row here: status, retry advice, hint. Nothing but `HoldfastError` may cross a module
 * boundary; anything else is a bug and is shown as a bare 500.
 */

export interface ErrorSpec {
  readonly status: number
  readonly retry: 'never' | 'after-delay' | 'after-change'
  readonly hint: string
}

export const ERRORS = {
  invalid_request: { status: 400, retry: 'after-change', hint: 'Correct the field that the message names.' },
  invalid_page_token: {
    status: 400,
    retry: 'after-change',
    hint: 'Begin with the first page; a token goes with the list and the filters it came from.',
  },
  backend_unknown: { status: 400, retry: 'after-change', hint: '`holdfast doctor` lists the backends.' },
  config_invalid: {
    status: 400,
    retry: 'after-change',
    hint: 'Correct the setting that the message names; docs/operate.md says what each one takes.',
  },
  profile_unknown: { status: 400, retry: 'after-change', hint: 'GET /v1/profiles lists the profiles of this server.' },
  pipeline_unknown: { status: 400, retry: 'after-change', hint: 'GET /v1/pipelines lists the pipelines.' },
  mount_refused: { status: 400, retry: 'after-change', hint: 'Mount a directory under an allowed root; see THREAT-MODEL.md, "Mounts".' },
  unauthorized: {
    status: 401,
    retry: 'after-change',
    hint: 'Send a valid API key as `Authorization: Bearer …` or `X-API-Key`; programs take it from HOLDFAST_API_KEY.',
  },
  forbidden: { status: 403, retry: 'never', hint: 'Ask an operator or an administrator of the tenant.' },
  profile_locked: {
    status: 403,
    retry: 'after-change',
    hint: 'Leave the named fields out, or use another profile; GET /v1/profiles shows what each one locks.',
  },
  origin_refused: {
    status: 403,
    retry: 'never',
    hint: 'Call the API from a program, or have the operator add the origin of the page to `cors.allowed_origins`.',
  },
  host_refused: {
    status: 403,
    retry: 'after-change',
    hint: 'Address the server as localhost or 127.0.0.1, or set `host` to the name it is to be reached by.',
  },
  file_forbidden: { status: 403, retry: 'after-change', hint: 'The user inside the sandbox may not do this; use a path that is its own.' },
  not_found: { status: 404, retry: 'never', hint: 'Check the id or address; what you may not see is not there for you.' },
  file_not_found: { status: 404, retry: 'after-change', hint: 'Nothing has this path inside the sandbox; list the directory above it.' },
  method_not_allowed: { status: 405, retry: 'never', hint: 'The header Allow names the methods of this address.' },
  request_stalled: { status: 408, retry: 'after-delay', hint: 'Send the body without pauses of a minute.' },
  session_incompatible: { status: 409, retry: 'after-change', hint: 'Leave the named fields out, or use another session key.' },
  session_closed: { status: 409, retry: 'never', hint: 'Create a new session; a closed one stays closed.' },
  session_busy: { status: 409, retry: 'after-delay', hint: 'Wait for the running work, or cancel it.' },
  session_held: { status: 409, retry: 'after-change', hint: 'An operator holds this session; ask for it to be let go.' },
  invalid_state: { status: 409, retry: 'after-change', hint: 'Read the session: its state does not allow this.' },
  incarnation_changed: {
    status: 409,
    retry: 'after-change',
    hint: 'The sandbox is another one than you expect; read `notice`, then send the new incarnation.',
  },
  version_conflict: { status: 409, retry: 'after-change', hint: 'Somebody else changed it; read it again, then decide.' },
  request_in_progress: { status: 409, retry: 'after-delay', hint: 'A request with this Idempotency-Key is being answered; retry shortly.' },
  outcome_unknown: {
    status: 409,
    retry: 'after-change',
    hint: 'The server died while it answered this Idempotency-Key; see whether it happened, then go on with a new key.',
  },
  not_interactive: {
    status: 409,
    retry: 'after-change',
    hint: 'Start it with `interactive` or `terminal`; what has no open stdin or no terminal takes neither input nor a size.',
  },
  execution_ended: { status: 409, retry: 'never', hint: 'It is over; read its record and its output.' },
  input_uncertain: {
    status: 409,
    retry: 'after-change',
    hint: 'Contact with the sandbox broke while input was on its way; look at the output, then decide what to send.',
  },
  read_only: {
    status: 409,
    retry: 'after-change',
    hint: 'It is built in or comes from the configuration file: change it there, or use another name.',
  },
  profile_in_use: { status: 409, retry: 'after-change', hint: 'Change or remove the pipelines that name it first.' },
  name_taken: { status: 409, retry: 'after-change', hint: 'Choose another name, or end what has it.' },
  file_exists: { status: 409, retry: 'after-change', hint: 'Choose another path, remove what is there, or leave `exclusive` out.' },
  home_locked: { status: 409, retry: 'after-change', hint: 'Stop the other server, or give this one its own HOLDFAST_HOME.' },
  cursor_expired: { status: 410, retry: 'after-change', hint: 'Older records are gone; read the session and go on from its sequence.' },
  sandbox_gone: { status: 410, retry: 'never', hint: 'The sandbox no longer exists; create a new one.' },
  payload_too_large: { status: 413, retry: 'after-change', hint: 'Send less in one request.' },
  range_not_satisfiable: { status: 416, retry: 'after-change', hint: 'Ask for bytes that the file has; Content-Range tells its size.' },
  session_elsewhere: { status: 421, retry: 'after-change', hint: 'Another server hosts this session; ask the one that is named.' },
  answer_not_kept: {
    status: 409,
    retry: 'never',
    hint: 'It was done once. Read what it made through its id; output lies at /v1/sessions/{id}/executions/{execution}/output.',
  },
  idempotency_key_reused: { status: 422, retry: 'after-change', hint: 'Use a new Idempotency-Key for another request.' },
  capability_unsupported: { status: 422, retry: 'after-change', hint: '`holdfast doctor` lists what each backend can do on this machine.' },
  image_missing: { status: 422, retry: 'after-change', hint: 'Load or build the image on the engine first, or name another with `image`.' },
  command_not_started: {
    status: 422,
    retry: 'after-change',
    hint: 'Check the program, its path and the working directory inside the sandbox.',
  },
  dependencies_failed: {
    status: 422,
    retry: 'after-change',
    hint: 'Read what the installer said at its end; docs/mcp.md, "Dependencies", says what it needs.',
  },
  file_operation_failed: { status: 422, retry: 'after-change', hint: 'Check the path inside the sandbox.' },
  connection_refused: { status: 422, retry: 'after-delay', hint: 'Nothing listens on that port inside the sandbox yet.' },
  process_unknown: { status: 404, retry: 'never', hint: 'List the processes; this one ended long ago or never was.' },
  upgrade_required: { status: 426, retry: 'after-change', hint: 'Open this address as a WebSocket.' },
  precondition_required: { status: 428, retry: 'after-change', hint: 'Read it first and send its version as If-Match.' },
  headers_too_large: { status: 431, retry: 'after-change', hint: 'Send shorter headers.' },
  identity_provider_unavailable: {
    status: 503,
    retry: 'after-delay',
    hint: 'The issuer of tokens does not answer; retry, or use an API key.',
  },
  backend_unavailable: { status: 503, retry: 'after-delay', hint: '`holdfast doctor` names the reason and the fix.' },
  server_busy: {
    status: 503,
    retry: 'after-delay',
    hint: 'Wait as long as Retry-After says; if it goes on, an operator can raise the setting that the details name.',
  },
  server_stopping: { status: 503, retry: 'after-delay', hint: 'Retry once the server has started again.' },
  listen_failed: { status: 503, retry: 'after-change', hint: 'Choose another address with --host and --port.' },
  server_unreachable: {
    status: 503,
    retry: 'after-delay',
    hint: 'Start the server with `holdfast up`, or check the address in HOLDFAST_URL.',
  },
  session_unavailable: { status: 503, retry: 'after-delay', hint: 'The session is being made ready; retry shortly.' },
  store_unavailable: { status: 503, retry: 'after-delay', hint: 'The database does not answer or is locked; see the message.' },
  no_space: { status: 507, retry: 'after-change', hint: 'Remove files inside the sandbox; its disk or its quota is full.' },
  store_full: { status: 507, retry: 'after-change', hint: 'Free some disk space; nothing was lost.' },
  store_corrupt: { status: 500, retry: 'never', hint: 'Restore the database from a backup; this file was not changed.' },
  store_too_new: { status: 500, retry: 'after-change', hint: 'Start the newer version of Holdfast that wrote this database.' },
  rate_limited: { status: 429, retry: 'after-delay', hint: 'Wait as long as Retry-After says, and ask less often.' },
  quota_exceeded: { status: 429, retry: 'after-delay', hint: 'End something that counts towards the quota, or ask for a larger one.' },
  capacity_exhausted: { status: 429, retry: 'after-delay', hint: 'Wait until something ends, or raise the limit.' },
  guest_protocol_violated: {
    status: 502,
    retry: 'never',
    hint: 'The sandbox sent something it must not; it is cut off. Create a new one.',
  },
  guest_unreachable: { status: 502, retry: 'after-delay', hint: 'The sandbox does not answer; it may have died.' },
  preview_failed: {
    status: 502,
    retry: 'after-delay',
    hint: 'The app inside closed the connection or did not speak HTTP; what it printed says why.',
  },
  mcp_server_exited: {
    status: 502,
    retry: 'after-delay',
    hint: 'The MCP server ended while it was needed; its log says why. It is started again with the next call.',
  },
  mcp_init_failed: {
    status: 502,
    retry: 'after-change',
    hint: 'Check the command of the MCP server and its log; it must speak MCP on stdin and stdout.',
  },
  mcp_message_too_large: { status: 502, retry: 'after-change', hint: 'Ask the MCP server for less at a time.' },
  mcp_request_timed_out: { status: 504, retry: 'after-delay', hint: 'The MCP server is busy or stuck; its log may say why.' },
  mcp_tool_denied: { status: 403, retry: 'never', hint: 'The rules of this MCP server leave the tool out; ask whoever configured it.' },
  mcp_server_disabled: {
    status: 409,
    retry: 'after-change',
    hint: 'Its configuration says `disabled`; an administrator of the tenant can put it again without.',
  },
  mcp_call_refused: { status: 422, retry: 'after-change', hint: 'The MCP server itself refused the call; read its message.' },
  request_cancelled: { status: 499, retry: 'never', hint: 'The caller went away; nothing was started.' },
  internal: { status: 500, retry: 'after-delay', hint: 'This is a bug; the server log has the cause under this request id.' },
} as const satisfies Record<string, ErrorSpec>

export type ErrorCode = keyof typeof ERRORS

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code)
}

/** RFC 9457 problem document. */
export interface Problem extends ErrorSpec {
  readonly type: string
  readonly title: string
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>
}

/** The one error type that may cross a module boundary. */
export class HoldfastError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'HoldfastError'
  readonly code: C
  readonly details: Readonly<Record<string, unknown>>
  /** What to do in this case; the hint of the code unless given. */
  readonly hint: string

  constructor(
    code: C,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions & { readonly hint?: string },
  ) {
    super(message, options)
    this.code = code
    this.details = details
    this.hint = options?.hint ?? ERRORS[code].hint
  }

  toProblem(): Problem {
    const { code, message: title, details, hint } = this
    return { type: `urn:holdfast:error:${code}`, title, code, details, ...ERRORS[code], hint }
  }
}

/** Compares the code, not the class, so that two copies of this package in one tree do no harm. */
export function isHoldfastError(error: unknown, code?: ErrorCode): error is HoldfastError {
  if (!(error instanceof Error) || error.name !== 'HoldfastError' || !('code' in error)) return false
  return code === undefined || error.code === code
}
