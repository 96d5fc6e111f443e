/**
 * One line in the log, one count and one span for every request, whoever answers it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Knows the template of the route and the id of the key, never the address, the headers or the body.
 */
import type { MiddlewareHandler } from 'hono'
import type { Log } from '../../telemetry/log.ts'
import type { RequestObserver } from '../../telemetry/observations.ts'
import { remoteSpanOf } from '../../telemetry/tracing.ts'
import type { Tracing } from '../../telemetry/tracing.ts'

/** What becomes known of a request on its way. */
export interface RequestFacts {
  /** As the table has it. */
  route: string | null
  keyId: string | null
}

export interface RequestsObserver extends RequestObserver {
  readonly tracing: Tracing
}

interface Environment {
  readonly Variables: { requestId: string; facts: RequestFacts }
}

/** Stands before everything else, so that it sees every answer. */
export function observedRequests({ requestAnswered, tracing }: RequestsObserver, log: Log): MiddlewareHandler<Environment> {
  return (c, next) => {
    const since = performance.now()
    const facts: RequestFacts = { route: null, keyId: null }
    c.set('facts', facts)
    const { method } = c.req
    return tracing.request(method, remoteSpanOf(c.req.header('traceparent')), async ({ traceId, answered }) => {
      await next()
      const { status } = c.res
      const { route, keyId } = facts
      const durationMs = performance.now() - since
      answered(route, status)
      requestAnswered(route, method, status, durationMs / 1000)
      log[status >= 500 ? 'info' : 'debug']('request-answered', {
        request_id: c.var.requestId,
        method,
        route,
        status,
        duration_ms: Math.round(durationMs * 1000) / 1000,
        key: keyId,
        ...(traceId === null ? {} : { trace_id: traceId }),
      })
    })
  }
}
