/**
 * One line in the log, one count and one span for every request, whoever answers it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Knows the template of the route and the id of the key, never the address, the headers or the body.
 */
import type { MiddlewareHandler } from 'hono'
import { randomId } from '../../home/random-id.ts'
import type { Log } from '../../telemetry/log.ts'
import type { RequestObserver } from '../../telemetry/observations.ts'
import { remoteSpanOf } from '../../telemetry/tracing.ts'
import type { Tracing } from '../../telemetry/tracing.ts'

/** What becomes known of a request on its way. */
export interface RequestFacts {
  /** As the table has it. */
  route: string | null
  keyId: string | null
  readonly requestId: string
}

export interface RequestsObserver extends RequestObserver {
  readonly tracing: Tracing
}

interface Environment {
  readonly Variables: { requestId: string; facts: RequestFacts }
}

/** Tells of one answer: `since` is when its request came. */
export type TellAnswer = (method: string, since: number, facts: RequestFacts, status: number, traceId?: string | null) => void

export function answersTold({ requestAnswered }: Pick<RequestObserver, 'requestAnswered'>, log: Log): TellAnswer {
  return (method, since, { route, keyId, requestId }, status, traceId = null) => {
    const durationMs = performance.now() - since
    requestAnswered(route, method, status, durationMs / 1000)
    log[status >= 500 ? 'info' : 'debug']('request-answered', {
      request_id: requestId,
      method,
      route,
      status,
      duration_ms: Math.round(durationMs * 1000) / 1000,
      key: keyId,
      ...(traceId === null ? {} : { trace_id: traceId }),
    })
  }
}

/** One request, from its first word to the status of its answer. */
export type ObserveRequest = (
  method: string,
  header: (name: string) => string | undefined,
  facts: RequestFacts,
  answer: () => Promise<number>,
) => Promise<void>

export function requestObservation({ tracing, ...observer }: RequestsObserver, log: Log): ObserveRequest {
  const tell = answersTold(observer, log)
  return (method, header, facts, answer) => {
    const since = performance.now()
    return tracing.request(method, remoteSpanOf(header('traceparent')), async ({ traceId, answered }) => {
      const status = await answer()
      answered(facts.route, status)
      tell(method, since, facts, status, traceId)
    })
  }
}

/** Stands before everything else, so that it sees every answer. */
export function observedRequests(observer: RequestsObserver, log: Log): MiddlewareHandler<Environment> {
  const observe = requestObservation(observer, log)
  return (c, next) => {
    const facts: RequestFacts = { route: null, keyId: null, requestId: randomId('req') }
    c.set('facts', facts)
    c.set('requestId', facts.requestId)
    return observe(
      c.req.method,
      (name) => c.req.header(name),
      facts,
      async () => {
        await next()
        return c.res.status
      },
    )
  }
}
