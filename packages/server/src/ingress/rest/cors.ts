/**
 * What a browser is told about pages of other origins: nothing, unless the operator has named them.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Credentials stay off: a page sends its own key, and no cookie means anything here. There is no wildcard.
 */
import type { Method } from './route.ts'

const METHODS: readonly (Method | 'HEAD')[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const REQUEST_HEADERS = [
  ...['Authorization', 'X-API-Key', 'X-Holdfast-On-Behalf-Of', 'X-Holdfast-Groups', 'X-Holdfast-Tenant', 'Content-Type', 'Accept'],
  ...['Idempotency-Key', 'If-Match', 'If-None-Match', 'If-Range', 'Range', 'Last-Event-ID', 'Traceparent'],
]
const ANSWER_HEADERS = [
  ...['ETag', 'Location', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'Idempotency-Replayed', 'Allow'],
  ...['Content-Range', 'Content-Length', 'Last-Modified', 'Accept-Ranges', 'Mcp-Session-Id'],
]
/** Of MCP clients: some are named after variables of a scope and parameters of tools, so each that is asked for is allowed by its name. */
const OF_MCP = /^(?:mcp|holdfast)-[a-z0-9-]{1,120}$/i
const MAXIMUM_OF_MCP = 64
const REMEMBERED_SECONDS = 600

export interface Cors {
  /** Headers of every answer to a request with this origin. */
  headersFor(origin: string | undefined): Readonly<Record<string, string>>
  /** Headers of the answer, 204, to a browser that asks before it sends; `null` when this is something else. */
  preflight(method: string, header: (name: string) => string | undefined): Readonly<Record<string, string>> | null
}

export function cors(allowedOrigins: ReadonlySet<string>): Cors {
  const isAllowed = (origin: string | undefined): origin is string => origin !== undefined && allowedOrigins.has(origin)
  // What depends on a header says so, also to those whom it refuses.
  const vary: Readonly<Record<string, string>> = allowedOrigins.size === 0 ? {} : { vary: 'Origin' }
  return {
    headersFor(origin) {
      if (!isAllowed(origin)) return vary
      return { ...vary, 'access-control-allow-origin': origin, 'access-control-expose-headers': ANSWER_HEADERS.join(', ') }
    },
    preflight(method, header) {
      if (method !== 'OPTIONS') return null
      const origin = header('origin')
      if (!isAllowed(origin) || header('access-control-request-method') === undefined) return null
      return {
        vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
        'access-control-allow-origin': origin,
        'access-control-allow-methods': METHODS.join(', '),
        'access-control-allow-headers': [...REQUEST_HEADERS, ...askedOfMcp(header('access-control-request-headers'))].join(', '),
        'access-control-max-age': `${REMEMBERED_SECONDS}`,
      }
    },
  }
}

function askedOfMcp(asked = ''): readonly string[] {
  return asked
    .split(',')
    .map((name) => name.trim())
    .filter((name) => OF_MCP.test(name))
    .slice(0, MAXIMUM_OF_MCP)
}
