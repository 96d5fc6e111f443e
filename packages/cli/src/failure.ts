/**
 * What went wrong, in one sentence, and on the next line what to do about it.
 *
 * Errors of the server, of the client library and of this program are told alike.
 */
import { ERRORS, isErrorCode, isHoldfastError } from '@holdfast/protocol/errors'
import { printable } from './output/printable.ts'

/** What these codes mean to somebody at a keyboard; the server's own hints speak to programs. */
const HINTS: Readonly<Record<string, string>> = {
  invalid_request: '',
  unauthorized: 'Set HOLDFAST_API_KEY, or run this as the user who started the server.',
  server_unreachable: 'Start it with `holdfast up`, or name another with --url or HOLDFAST_URL.',
  mcp_server_exited: '`holdfast mcp logs` says why; the next call starts it again.',
  mcp_init_failed: 'It must speak MCP on stdin and stdout; `holdfast mcp logs` has what it printed.',
  not_found: '`holdfast sessions ls -a` and `holdfast ps -a` list what there is; what you may not see is not there for you.',
  session_busy: 'Wait for what runs (`holdfast ps`), or end it with `holdfast sessions cancel-work`.',
  execution_ended: 'It is over; read what it printed with `holdfast logs`.',
  file_operation_failed: '',
  file_not_found: '`holdfast files ls` shows what is there.',
}

const MCP_SERVERS = '`holdfast mcp ls` lists the MCP servers that there are; `holdfast mcp add` makes one.'

/** Whether it is one of ours, which have words for people; anything else is a bug. */
export function isFailure(error: unknown): error is Error & { readonly code: string } {
  return isHoldfastError(error)
}

export function tellFailure(error: Error & { readonly code: string }, output: NodeJS.WriteStream = process.stderr): void {
  output.write(`holdfast: ${printable(error.message)}\n`)
  const hint = hintOf(error)
  if (hint !== '') output.write(`  ${printable(hint)}\n`)
  const requestId = 'requestId' in error && error.code === 'internal' ? error.requestId : null
  if (typeof requestId === 'string') output.write(`  request ${printable(requestId)}\n`)
}

function hintOf(error: Error & { readonly code: string }): string {
  const { code } = error
  const usual = isErrorCode(code) ? ERRORS[code].hint : ''
  const details = 'details' in error && typeof error.details === 'object' && error.details !== null ? error.details : {}
  // Of this very failure, where there is more to say than of its kind.
  if ('hint' in details && typeof details.hint === 'string' && details.hint !== usual && !error.message.includes(details.hint))
    return details.hint
  if (code === 'not_found' && 'server' in details) return MCP_SERVERS
  const own = HINTS[code]
  if (own !== undefined) return own
  return 'hint' in error && typeof error.hint === 'string' && error.hint !== '' ? error.hint : usual
}

/** Something to know that is no failure. */
export function note(sentence: string, output: NodeJS.WriteStream = process.stderr): void {
  output.write(`holdfast: ${printable(sentence)}\n`)
}
