/**
 * The metrics of one server, in a registry of its own: what the parts tell, how things stand, and the process itself.
 *
 * Stands beside the flow. Labels are words of this program, never ids, keys, tenants or paths, so that the number of series is bounded.
 */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Observer } from '../observations.ts'
import type { Tracing } from '../tracing.ts'
import { mcpMetrics } from './mcp-metrics.ts'
import { requestMetrics } from './request-metrics.ts'
import { sandboxMetrics } from './sandbox-metrics.ts'
import { sessionMetrics } from './session-metrics.ts'
import { stateGauges } from './state-gauges.ts'
import type { StateSources } from './state-gauges.ts'
import { storeMetrics } from './store-metrics.ts'
import { webhookMetrics } from './webhook-metrics.ts'

/** How often the event loop is looked at; each look wakes an idle process. */
const LOOP_LOOK_MS = 50

export interface Metrics {
  readonly observer: Observer
  /** Says which software this is. Call it once. */
  describe(facts: { readonly release: string; readonly backend: string; readonly store: string }): void
  /** What is read at each scrape. Call it once. */
  watch(sources: StateSources): void
  /** In the text format of Prometheus. */
  text(): Promise<string>
  readonly contentType: string
  readonly registry: Registry
}

export function createMetrics(tracing: Tracing): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOK_MS })
  return {
    observer: {
      ...requestMetrics(registry),
      ...sessionMetrics(registry),
      ...sandboxMetrics(registry),
      ...mcpMetrics(registry),
      ...webhookMetrics(registry),
      ...storeMetrics(registry),
      tracing,
    },
    describe({ release, backend, store }) {
      const info = new Gauge({
        name: 'holdfast_info',
        help: 'Always 1; its labels say what runs here.',
        labelNames: ['release', 'backend', 'store'],
        registers: [registry],
      })
      info.labels(release, backend, store).set(1)
    },
    watch: (sources) => stateGauges(registry, sources),
    text: () => registry.metrics(),
    contentType: registry.contentType,
    registry,
  }
}
