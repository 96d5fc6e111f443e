/**
 * Failures as RFC 9457 problem documents.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A `HoldfastError` is shown as its row of the table says. Anything else is a bug: logged with its cause, shown as a bare 500
 * that names only the request id.
 */
import { ERRORS, HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import { rateLimitHeaders } from './rate-limit-headers.ts'
import type { Reply } from './route.ts'

const RETRY_AFTER_SECONDS = '1'

/** The document of any failure, for a response body or an in-band `error` event. */
export function problemDocument(error: unknown, requestId: string) {
  const known = isHoldfastError(error)
    ? error
    : new HoldfastError('internal', 'the server failed to handle this request', {}, { cause: error })
  return { ...known.toProblem(), details: { ...known.details }, request_id: requestId }
}

/** The same, and the log has what a caller must not see. */
export function loggedProblem(error: unknown, requestId: string, log: Log) {
  const document = problemDocument(error, requestId)
  const { code, status } = document
  // What a program in a sandbox did and said is no failure of this server, and not for its log.
  const program = /^(?:mcp|preview)(?=_)/.exec(code)?.[0]
  // A planned stop is no failure either: its clients come back after the next start.
  if (code === 'server_stopping') log.info('request-refused', { request_id: requestId, code })
  else if (program !== undefined) log.info(`${program}-request-failed`, { request_id: requestId, code })
  else if (status >= 500) log.error('request-failed', { request_id: requestId, code, error: errorText(error) })
  return document
}

export function problemReply(error: unknown, requestId: string, log: Log): Reply & { readonly code: ErrorCode } {
  const document = loggedProblem(error, requestId, log)
  const { code, status } = document
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
  if (ERRORS[code].retry === 'after-delay') headers['retry-after'] = RETRY_AFTER_SECONDS
  if (code === 'rate_limited') Object.assign(headers, rateLimitHeaders(document))
  if (code === 'range_not_satisfiable') headers['content-range'] = `bytes */${String(document.details['size'])}`
  if (code === 'unauthorized') headers['www-authenticate'] = 'Bearer'
  return { status, body: document, headers, code }
}
