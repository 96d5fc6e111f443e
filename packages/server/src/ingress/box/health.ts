/**
 * `/healthz` and `/readyz` as a Box client's operators know them, laid over what the server answers there anyway.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { BoxAction } from '@holdfast/protocol/box'
import type { Fetch } from '../http-listener.ts'
import type { BoxRuntime } from './runtime.ts'

const RESOLUTION_MS = 20
const NANOSECONDS = 1e6
const PATHS = /^https?:\/\/[^/]*(\/healthz|\/readyz)(?:\?|$)/

export interface BoxHealth {
  /** The server's own answers, at the two addresses with the words of the Box protocol in them. */
  over(fetch: Fetch): Fetch
  close(): void
}

export interface BoxHealthNeeds {
  readonly runtime: Pick<BoxRuntime, 'backendInfo' | 'counts'>
  /** How many calls are under way. */
  readonly underWay: (action?: BoxAction) => number
}

export function boxHealth({ runtime, underWay }: BoxHealthNeeds): BoxHealth {
  const lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  lag.enable()
  const milliseconds = (value: number) => Math.max(0, Math.round((value / NANOSECONDS - RESOLUTION_MS) * 100) / 100 || 0)

  function resources() {
    return {
      event_loop: {
        running: true,
        samples_total: lag.count,
        last_lag_ms: milliseconds(lag.percentile(50)),
        recent_p95_lag_ms: milliseconds(lag.percentile(95)),
        recent_max_lag_ms: milliseconds(lag.percentile(99.9)),
        max_lag_ms: milliseconds(lag.count === 0 ? 0 : lag.max),
      },
      blocking_executor: {},
      ...runtime.counts(),
      creating_session_tasks: underWay('box_create_session'),
      closing_session_tasks: underWay('box_delete_session'),
      background_tasks: underWay(),
    }
  }

  async function dressed(path: string, answer: Response): Promise<Response> {
    const body: unknown = await answer.json().catch(() => ({}))
    const own = typeof body === 'object' ? body : {}
    if (path === '/healthz') return reply({ ...own, live: true, resources: resources() }, answer, answer.status)
    const backend = await runtime.backendInfo()
    const isReady = answer.ok && backend.available
    const readiness = { ready: isReady, mode: 'standard', backend, checks: { backend_available: backend.available } }
    return reply({ ...own, ...readiness, resources: resources() }, answer, isReady ? 200 : 503)
  }

  return {
    over: (fetch) => async (request, peer) => {
      const answer = await fetch(request, peer)
      const path = request.method === 'GET' ? PATHS.exec(request.url)?.[1] : undefined
      // Whoever is not let in at all is told what everybody is told.
      return path === undefined || (!answer.ok && answer.status !== 503) ? answer : dressed(path, answer)
    },
    close() {
      lag.disable()
    },
  }
}

function reply(body: object, { headers }: Response, status: number): Response {
  const kept = new Headers(headers)
  kept.delete('content-length')
  kept.set('content-type', 'application/json')
  return new Response(JSON.stringify(body), { status, headers: kept })
}
