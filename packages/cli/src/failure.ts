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
  session_busy: 'Wait for what runs (`holdfast ps`), or end it with `holdfast sessions cancel-work`.',
  execution_ended: 'It is over; read what it printed with `holdfast logs`.',
  file_operation_failed: '',
  file_not_found: '`holdfast files ls` shows what is there.',
}

/** The verb that lists what was not found, by the word that the message has for it. */
const LISTS: readonly (readonly [RegExp, string])[] = [
  [/\btenant\b/, '`holdfast tenants ls` lists the tenants that you may see, with their ids.'],
  [/\bskill\b/, '`holdfast skills ls` lists the skills of the tenant.'],
  [/\bAPI key\b/, '`holdfast keys ls` lists the API keys.'],
  [/\bwebhook\b/, '`holdfast webhooks ls` lists the webhooks.'],
  [/\b(process|execution)\b/, '`holdfast ps <session> -a` lists the commands and processes of a session, ended ones too.'],
  [/\bMCP server\b/, '`holdfast mcp ls` lists the MCP servers that there are; `holdfast mcp add` makes one.'],
  [/\bsandbox\b/, '`holdfast sandboxes ls` lists the sandboxes.'],
  [/\bsession\b/, '`holdfast sessions ls -a` lists the sessions that you may see, ended ones too.'],
]

/** Whether it is one of ours, which have words for people; anything else is a bug. */
export function isFailure(error: unknown): error is Error & { readonly code: string } {
  return isHoldfastError(error)
}

export function tellFailure(error: Error & { readonly code: string }, output: NodeJS.WriteStream = process.stderr): void {
  output.write(`holdfast: ${printable(oneLine(error.message))}\n`)
  const hint = hintOf(error)
  if (hint !== '') output.write(`  ${printable(hint)}\n`)
  const requestId = 'requestId' in error && error.code === 'internal' ? error.requestId : null
  if (typeof requestId === 'string') output.write(`  request ${printable(requestId)}\n`)
}

function oneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join('; ')
}

function hintOf(error: Error & { readonly code: string }): string {
  const { code } = error
  const usual = isErrorCode(code) ? ERRORS[code].hint : ''
  const details = 'details' in error && typeof error.details === 'object' && error.details !== null ? error.details : {}
  // Of this very failure, where there is more to say than of its kind.
  if ('hint' in details && typeof details.hint === 'string' && details.hint !== usual && !error.message.includes(details.hint))
    return details.hint
  if (code === 'not_found') return LISTS.find(([word]) => word.test(error.message))?.[1] ?? usual
  if (code === 'config_invalid') return configHint(details)
  const own = HINTS[code]
  if (own !== undefined) return own
  return 'hint' in error && typeof error.hint === 'string' && error.hint !== '' ? error.hint : usual
}

/** Not `config show`: it reads the same file and fails in the same way. */
function configHint(details: object): string {
  if ('file' in details && typeof details.file === 'string') return `Correct that line of ${details.file}, or move the file away.`
  return 'Correct or remove the value where it is set; the message names the place.'
}

/** Something to know that is no failure. */
export function note(sentence: string, output: NodeJS.WriteStream = process.stderr): void {
  output.write(`holdfast: ${printable(sentence)}\n`)
}
