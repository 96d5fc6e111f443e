/**
 * Requests: how many of each route, how they were answered, how long that took.
 *
 * Stands beside the flow. A route is named by its template, so there are as many names as rows in the table of routes.
 */
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { RequestObserver } from '../observations.ts'
import { LATENCY_SECONDS } from './buckets.ts'

/** Any other method has no row. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

/** The series of one route and method, bound once. */
interface Answers {
  readonly seconds: Histogram.Internal<'route' | 'method'>
  readonly byClass: readonly Counter.Internal[]
}

export function requestMetrics(registry: Registry): RequestObserver {
  const requests = new Counter({
    name: 'holdfast_http_requests_total',
    help: 'Requests that were answered, by the template of their route; other: an address without one.',
    labelNames: ['route', 'method', 'status'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'holdfast_http_request_duration_seconds',
    help: 'From the request to the beginning of its answer.',
    labelNames: ['route', 'method'],
    buckets: LATENCY_SECONDS,
    registers: [registry],
  })
  const streams = new Gauge({
    name: 'holdfast_http_streams_open',
    help: 'Answers that go on as server-sent events and sockets.',
    registers: [registry],
  })
  const bound = new Map<string, Answers>()

  function answersOf(route: string, method: string): Answers {
    const name = `${method} ${route}`
    const known = bound.get(name)
    if (known !== undefined) return known
    const answers = {
      seconds: seconds.labels(route, method),
      byClass: STATUS_CLASSES.map((status) => requests.labels(route, method, status)),
    }
    bound.set(name, answers)
    return answers
  }

  return {
    requestAnswered(route, method, status, duration) {
      const answers = answersOf(route ?? 'other', METHODS.includes(method) ? method : 'other')
      answers.seconds.observe(duration)
      answers.byClass[Math.floor(status / 100) - 1]?.inc()
    },
    streamOpened() {
      streams.inc()
      return () => streams.dec()
    },
  }
}
