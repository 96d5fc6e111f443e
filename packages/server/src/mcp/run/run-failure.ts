/**
 * Why an MCP server does not run: in which phase, what to do about it, and whether another try can help.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Pure. The code stays the one of the failure itself.
 */
import { ERRORS, HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import type { McpPhase, McpRunError, McpScope } from '@holdfast/protocol/mcp'
import { shown } from '../launch/progress.ts'

export interface RunFailure {
  readonly phase: McpPhase
  /** For whoever asked for it. */
  readonly error: HoldfastError
  /** For those who have it, and its log. */
  readonly reason: string
  readonly hint: string
  /** Later, without anybody changing anything. */
  readonly mayPass: boolean
}

export interface FailedRun {
  readonly server: string
  readonly scope: McpScope
  readonly phase: McpPhase
  /** The end of what it complained of. */
  readonly stderr: string
  /** It asks for a network, and the box of its conversation has none. */
  readonly isCutOff: boolean
}

/** There is no sandbox to be had at the moment. */
const BOX_DOWN: ReadonlySet<ErrorCode> = new Set([
  'backend_unavailable',
  'session_unavailable',
  'guest_unreachable',
  'sandbox_gone',
  'server_stopping',
  'capacity_exhausted',
])
/** Those that pass, but not in the seconds of another try. */
const SLOW_TO_PASS: ReadonlySet<ErrorCode> = new Set(['quota_exceeded', 'rate_limited', 'server_stopping', 'internal'])
const TOLD_STDERR = 1_000
/** What npm says after the reason: a file of the box that nobody will look at. */
const LAST_WORDS = /^npm (?:error|ERR!) +(?:A complete log of this run|$)/

const HINTS: Partial<Record<ErrorCode, string>> = {
  command_not_started: 'The program must be in the box: name an image that has it, or its path there; docs/mcp.md, "Paths in the box".',
  session_incompatible: 'Leave the named fields out of `box`, or give the server a box of its own with the scope "tenant" or "pipeline".',
  profile_locked: 'Leave the named fields out of `box`; the profile of these sessions decides about them.',
}

/** What may come from not being able to fetch something. */
const OF_NO_NETWORK: ReadonlySet<ErrorCode> = new Set(['mcp_server_exited', 'mcp_init_failed', 'dependencies_failed'])
const NO_NETWORK =
  'The session of this conversation has no network, so nothing can be fetched: make it with one, ' +
  'or give the server a box of its own with the scope "tenant".'

export function failureOf(cause: unknown, run: FailedRun): RunFailure {
  const known = isHoldfastError(cause) ? cause : new HoldfastError('internal', 'something went wrong that should not have', {}, { cause })
  const isBoxDown = BOX_DOWN.has(known.code) && isBeforeGreeting(run.phase)
  const phase = isBoxDown ? 'box_unavailable' : run.phase
  const hint = isBoxDown
    ? `No sandbox can be had, and nothing is run outside of one. ${ERRORS[known.code].hint}`
    : run.isCutOff && OF_NO_NETWORK.has(known.code)
      ? NO_NETWORK
      : (givenHint(known) ?? HINTS[known.code] ?? ERRORS[known.code].hint)
  const reason = reasonOf(known, run)
  return {
    ...{ phase, hint, reason },
    error: run.scope === 'shared' ? bare(known, phase, hint, run) : described(known, reason, { ...run, phase, hint }),
    mayPass: ERRORS[known.code].retry === 'after-delay' && !SLOW_TO_PASS.has(known.code),
  }
}

export function failureView({ phase, error, reason, hint }: RunFailure): McpRunError {
  return { phase, code: error.code, message: reason, hint }
}

/** Whoever failed may know better than its code. */
function givenHint({ details }: HoldfastError): string | null {
  return typeof details['hint'] === 'string' ? details['hint'] : null
}

function isBeforeGreeting(phase: McpPhase): boolean {
  return phase === 'session_create' || phase === 'dep_install' || phase === 'process_start' || phase === 'relay_connect'
}

/** What a shared server complains of is for those who manage it: it may hold secrets that are not the caller's. */
function complaintOf({ scope, stderr }: FailedRun): string {
  return scope === 'session' ? shown(stderr).trimEnd().slice(-TOLD_STDERR) : ''
}

function reasonOf(known: HoldfastError, run: FailedRun): string {
  const lines = complaintOf(run).split('\n')
  const last = (lines.findLast((line) => line.trim() !== '' && !LAST_WORDS.test(line)) ?? '').trim()
  return `the MCP server ${JSON.stringify(run.server)}: ${known.message}${last === '' ? '' : ` (${last.slice(0, 300)})`}`
}

function described(known: HoldfastError, reason: string, run: FailedRun & Pick<RunFailure, 'hint'>): HoldfastError {
  const { phase, server, hint, scope } = run
  const complaint = complaintOf(run)
  const { output: _, ...details } = known.details
  const told = { ...(scope === 'session' ? known.details : details), phase, server, hint }
  return new HoldfastError(known.code, reason, { ...told, ...(complaint === '' ? {} : { stderr: complaint }) }, { cause: known })
}

/** Whoever asks may be of another tenant, to whom paths, images and what an installer printed are not shown. */
function bare(known: HoldfastError, phase: McpPhase, hint: string, { server }: FailedRun): HoldfastError {
  const message = `the MCP server ${JSON.stringify(server)} does not run (${phase}); those who have it find the reason in its log`
  return new HoldfastError(known.code, message, { phase, server, hint }, { cause: known })
}
