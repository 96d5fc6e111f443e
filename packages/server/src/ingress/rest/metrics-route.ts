/**
 * `GET /metrics`: how the server is doing, in the text format of Prometheus.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { bytes, publicRoute, route } from './route.ts'
import type { Route, Visit } from './route.ts'

export interface MetricsNeeds {
  readonly metrics: { text(): Promise<string>; readonly contentType: string }
  /** Whether it needs no key. */
  readonly isMetricsPublic: boolean
}

export function metricsRoutes({ metrics, isMetricsPublic }: MetricsNeeds): readonly Route[] {
  const row = {
    method: 'GET',
    path: '/metrics',
    summary: 'Read the metrics of the server',
    answers: { 200: bytes('text/plain', 'In the text format of Prometheus') },
    errors: [],
    async handle({ requestId }: Visit) {
      const headers = { 'content-type': metrics.contentType, 'cache-control': 'no-store', 'x-request-id': requestId }
      return new Response(await metrics.text(), { headers })
    },
  } as const
  return [isMetricsPublic ? publicRoute(row) : route({ ...row, authorization: 'read-metrics' })]
}
