/**
 * An exporter of spans whose failures are in the log, once until it works again.
 *
 * Stands beside the flow. OpenTelemetry itself tells them only to a handler that is the same for the whole process.
 */
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { errorText } from './log.ts'
import type { Log } from './log.ts'

export function loggedExporter(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const isFailure = result.error !== undefined
        if (isFailure && !isFailing) log.warn('traces-not-sent', { spans: spans.length, error: errorText(result.error) })
        if (!isFailure && isFailing) log.info('traces-sent-again')
        isFailing = isFailure
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
