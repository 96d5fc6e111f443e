/**
 * Spans sent to a collector with OpenTelemetry, as OTLP over HTTP.
 *
 * Stands beside the flow, and is loaded only when a collector is configured. Registers nothing globally. A span has the method, the route's
 * template, the status and the code of a failure, and never a path, a message or anything that a caller sent. A collector that is away costs
 * spans, never requests: the queue is bounded, and what does not fit is dropped.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isHoldfastError } from '@holdfast/protocol'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Context, Span } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, ParentBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { loggedExporter } from './logged-exporter.ts'
import type { Log } from './log.ts'
import type { RemoteSpan, Tracing } from './tracing.ts'

/** When the server stops, spans are not worth a longer wait. */
const FLUSH_MS = 2_000
const GATHER_MS = 5_000
const SEND_MS = 5_000

export interface OtlpNeeds {
  /** Of the collector, without `/v1/traces`. */
  readonly url: string
  readonly serverId: string
  readonly release: string
  readonly log: Log
  /** How long spans are gathered before they are sent. */
  readonly gatherMs?: number
  /** How long one sending may take, repeated attempts included. */
  readonly sendMs?: number
}

export function otlpTracing({ url, serverId, release, log, gatherMs = GATHER_MS, sendMs = SEND_MS }: OtlpNeeds): Tracing {
  const current = new AsyncLocalStorage<OpenSpan>()
  const exporter = new OTLPTraceExporter({ url: `${url.replace(/(?<!\/)\/+$/, '')}/v1/traces`, timeoutMillis: sendMs })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'holdfast', 'service.version': release, 'service.instance.id': serverId }),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new BatchSpanProcessor({ exporter: loggedExporter(exporter, log), scheduledDelayMillis: gatherMs })],
  })
  const tracer = provider.getTracer('holdfast', release)

  return {
    async request(method, parent, work) {
      const attributes = { 'http.request.method': method }
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, contextOf(parent))
      try {
        return await current.run({ span, within: null }, () =>
          work({
            traceId: span.spanContext().traceId,
            answered(route, status) {
              span.updateName(route === null ? method : `${method} ${route}`)
              if (route !== null) span.setAttribute('http.route', route)
              span.setAttribute('http.response.status_code', status)
              if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
            },
          }),
        )
      } finally {
        span.end()
      }
    },
    async step(name, work) {
      const within = nearestOpen(current.getStore() ?? null)
      if (within === null) return work()
      const span = tracer.startSpan(name, {}, trace.setSpan(ROOT_CONTEXT, within.span))
      try {
        return await current.run({ span, within }, work)
      } catch (error) {
        span.setAttribute('error.type', isHoldfastError(error) ? error.code : 'internal')
        span.setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        span.end()
      }
    },
    bind: (work) => AsyncLocalStorage.bind(work),
    async close() {
      await Promise.race([provider.shutdown().catch(() => undefined), lapse(FLUSH_MS)])
    },
  }
}

interface OpenSpan {
  readonly span: Span
  readonly within: OpenSpan | null
}

/** A step may outlast the one that began it; and a timer that a request has set belongs to it no longer once it is answered. */
function nearestOpen(from: OpenSpan | null): OpenSpan | null {
  let open = from
  while (open !== null && !open.span.isRecording()) open = open.within
  return open
}

function contextOf(parent: RemoteSpan | null): Context {
  if (parent === null) return ROOT_CONTEXT
  const { traceId, spanId, flags } = parent
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true })
}

function lapse(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref())
}
