/**
 * Every route of the REST door, in the order in which the document shows them, and the door over them.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { Hono } from 'hono'
import { z } from 'zod'
import type { Keys } from '../../access/keys.ts'
import type { Tenants } from '../../access/tenants.ts'
import type { ScopePolicy } from '../../policy/scopes/scope-policy.ts'
import type { EventListeners } from '../../sessions/events/event-listeners.ts'
import { createEventReader } from '../../sessions/events/read-events.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { Webhooks } from '../../sessions/webhooks/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { auditRoutes } from './audit-routes.ts'
import { restDoor } from './door.ts'
import type { DoorNeeds } from './door.ts'
import { eventRoutes } from './event-routes.ts'
import { execRoutes } from './exec-route.ts'
import { executionRoutes } from './execution-routes.ts'
import { factRoutes } from './fact-routes.ts'
import type { FactRoutesNeeds } from './fact-routes.ts'
import { healthRoutes } from './health-routes.ts'
import type { HealthNeeds } from './health-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { openApiDocument } from './openapi.ts'
import { createPages } from './page-tokens.ts'
import { json, publicRoute } from './route.ts'
import type { Route } from './route.ts'
import { sessionRoutes } from './session-routes.ts'
import { steeringRoutes } from './steering-routes.ts'
import { tenantRoutes } from './tenant-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'

export interface RouteNeeds extends Omit<FactRoutesNeeds, 'tenants'>, HealthNeeds {
  readonly store: Store
  readonly sessions: Sessions
  readonly tenants: Tenants
  readonly keys: Keys
  readonly webhooks: Webhooks
  readonly scopes: ScopePolicy
  readonly listeners: EventListeners
  /** Signs page tokens; servers on one database have the same. */
  readonly pageKey: Uint8Array
  /** Of this software, for the document. */
  readonly release: string
}

/** The route table. */
export function restRoutes(needs: RouteNeeds): readonly Route[] {
  const { store, sessions, listeners, release } = needs
  const pages = createPages({ key: needs.pageKey })
  const { commands, steering } = sessions
  const routes: readonly Route[] = [
    ...execRoutes({ commands, scopes: needs.scopes }),
    ...sessionRoutes({ sessions, scopes: needs.scopes, listeners, pages }),
    ...steeringRoutes({ steering }),
    ...executionRoutes({ commands, listeners, pages }),
    ...eventRoutes({ events: createEventReader({ store, listeners }) }),
    ...auditRoutes({ store, pages }),
    ...factRoutes(needs),
    ...tenantRoutes({ tenants: needs.tenants, pages }),
    ...keyRoutes({ keys: needs.keys, pages }),
    ...webhookRoutes({ webhooks: needs.webhooks }),
    ...healthRoutes(needs),
  ]
  return [...routes, documentRoute((own) => openApiDocument([...routes, own], release))]
}

export function restApp(needs: RouteNeeds & Omit<DoorNeeds, 'routes'>): Hono<{ Variables: { requestId: string } }> {
  return restDoor({ ...needs, routes: restRoutes(needs) })
}

/** The document speaks of itself too. */
function documentRoute(write: (own: Route) => Readonly<Record<string, unknown>>): Route {
  let document: Record<string, unknown> | null = null
  const own: Route = publicRoute({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    answers: { 200: json('OpenApi', z.record(z.string(), z.unknown()), 'OpenAPI 3.1') },
    errors: [],
    handle: async () => ({ status: 200, body: (document ??= { ...write(own) }) }),
  })
  return own
}
