/**
 * `/healthz` and `/readyz`: whether the process lives, and whether it can do its work.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HealthView, ReadyView } from '@holdfast/protocol'
import type { ClockNeeds } from './clock-routes.ts'
import { json, publicRoute } from './route.ts'
import type { Route } from './route.ts'

export interface HealthNeeds {
  readonly health: () => { readonly version: string; readonly backend: string; readonly backend_version: string }
  /** Throws what is in the way. */
  readonly checkReady: () => Promise<void>
}

export function healthRoutes({ health, checkReady, steadyClock }: HealthNeeds & ClockNeeds): readonly Route[] {
  return [
    publicRoute({
      method: 'GET',
      path: '/healthz',
      summary: 'Ask whether the server is alive',
      answers: { 200: json('Health', HealthView, 'It is') },
      errors: [],
      handle: async () => ({ status: 200, body: { status: 'ok' as const, ...health() } }),
    }),
    publicRoute({
      method: 'GET',
      path: '/readyz',
      summary: 'Ask whether the server takes work: its database, its disk and its backend are usable, and it is not stopping',
      answers: { 200: json('Ready', ReadyView, 'It does') },
      errors: ['store_unavailable', 'backend_unavailable', 'server_stopping'],
      async handle() {
        await checkReady()
        return {
          status: 200,
          body: { status: 'ready' as const, clock: steadyClock.jump() === null ? ('steady' as const) : ('jumped' as const) },
        }
      },
    }),
  ]
}
