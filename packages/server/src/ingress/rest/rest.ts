/**
 * Every route of the REST door, in the order in which the document shows them, and the door over them.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { Hono } from 'hono'
import type { Keys } from '../../access/keys.ts'
import type { Tenants } from '../../access/tenants.ts'
import type { McpRuns } from '../../mcp/run/mcp-runs.ts'
import type { McpServers } from '../../mcp/servers/mcp-servers.ts'
import type { ScopePolicy } from '../../policy/scopes/scope-policy.ts'
import type { TenantPipelines } from '../../policy/tenant-pipelines.ts'
import type { EventListeners } from '../../sessions/events/event-listeners.ts'
import { createEventReader } from '../../sessions/events/read-events.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { Webhooks } from '../../sessions/webhooks/webhooks.ts'
import type { Skills } from '../../skills/skills.ts'
import type { Store } from '../../store/store.ts'
import type { Tools } from '../../tools/tools.ts'
import type { MakePreview } from '../preview/make-preview.ts'
import { socketRoutes } from '../sockets/socket-routes.ts'
import { socketRows } from '../sockets/sockets.ts'
import { auditRoutes } from './audit-routes.ts'
import { boxRoutes } from './box-routes.ts'
import type { BoxRoutesNeeds } from './box-routes.ts'
import { credentialRoutes } from './credential-routes.ts'
import { docsRoutes } from './docs-routes.ts'
import { restDoor } from './door.ts'
import type { DoorEnvironment, DoorNeeds } from './door.ts'
import { eventRoutes } from './event-routes.ts'
import { execRoutes } from './exec-route.ts'
import { executionRoutes } from './execution-routes.ts'
import { clockRoutes } from './clock-routes.ts'
import type { ClockNeeds } from './clock-routes.ts'
import { factRoutes } from './fact-routes.ts'
import type { FactRoutesNeeds } from './fact-routes.ts'
import { fileRoutes } from './file-routes.ts'
import type { FileRoutesNeeds } from './file-routes.ts'
import { healthRoutes } from './health-routes.ts'
import type { HealthNeeds } from './health-routes.ts'
import { inputRoutes } from './input-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { mcpRoutes } from './mcp-routes.ts'
import { mcpUseRoutes } from './mcp-use-routes.ts'
import { metricsRoutes } from './metrics-route.ts'
import type { MetricsNeeds } from './metrics-route.ts'
import { createPages } from './page-tokens.ts'
import { previewRoutes } from './preview-routes.ts'
import { pipelineRoutes } from './pipeline-routes.ts'
import { processRoutes } from './process-routes.ts'
import { profileRoutes } from './profile-routes.ts'
import type { ProfileRoutesNeeds } from './profile-routes.ts'
import type { Route } from './route.ts'
import { sandboxRoutes } from './sandbox-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { skillRoutes } from './skill-routes.ts'
import { steeringRoutes } from './steering-routes.ts'
import { tenantRoutes } from './tenant-routes.ts'
import { toolRoutes } from './tool-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'

export interface RouteNeeds
  extends Omit<FactRoutesNeeds, 'tenants'>, ProfileRoutesNeeds, HealthNeeds, ClockNeeds, MetricsNeeds, BoxRoutesNeeds {
  readonly store: Store
  readonly sessions: Sessions
  readonly tenants: Tenants
  readonly keys: Keys
  readonly webhooks: Webhooks
  readonly skills: Skills
  readonly scopes: ScopePolicy
  readonly pipelines: TenantPipelines
  readonly tools: Tools
  readonly mcp: { readonly servers: McpServers; readonly runs: McpRuns }
  /** Gives links to web apps inside. */
  readonly makePreview: MakePreview
  /** Makes links to single files, below this address. */
  readonly fileLinks: FileRoutesNeeds['fileLinks']
  readonly publicUrl: string | null
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
  const { scopes, pipelines, makePreview } = needs
  const mcp = { servers: needs.mcp.servers, runs: needs.mcp.runs, reads: sessions.reads }
  const routes: readonly Route[] = [
    ...execRoutes({ commands, scopes, pipelines }),
    ...sessionRoutes({ sessions, scopes, pipelines, listeners, pages }),
    ...steeringRoutes({ steering }),
    ...executionRoutes({ commands, listeners, pages }),
    ...inputRoutes({ commands }),
    ...processRoutes({ processes: sessions.processes }),
    ...credentialRoutes({ credentials: sessions.credentials }),
    ...previewRoutes({ makePreview }),
    ...toolRoutes({ tools: needs.tools, getOrCreate: (...asked) => sessions.getOrCreate(...asked), makePreview, scopes, pipelines }),
    ...socketRoutes(socketRows(sessions), sessions.reads),
    ...fileRoutes({
      files: sessions.files,
      reads: sessions.reads,
      clock: Date.now,
      fileLinks: needs.fileLinks,
      publicUrl: needs.publicUrl,
    }),
    ...eventRoutes({ events: createEventReader({ store, listeners }) }),
    ...auditRoutes({ store, pages }),
    ...factRoutes(needs),
    ...profileRoutes({ ...needs, pages }),
    ...pipelineRoutes({ ...needs, pages }),
    ...sandboxRoutes({ store, pages }),
    ...tenantRoutes({ tenants: needs.tenants, pages }),
    ...keyRoutes({ keys: needs.keys, pages }),
    ...skillRoutes({ skills: needs.skills, store, clock: Date.now }),
    ...mcpRoutes(mcp),
    ...mcpUseRoutes({ ...mcp, sessions, scopes, pipelines }),
    ...webhookRoutes({ webhooks: needs.webhooks }),
    ...boxRoutes(needs),
    ...healthRoutes(needs),
    ...clockRoutes(needs),
    ...metricsRoutes(needs),
  ]
  return [...routes, ...docsRoutes(routes, release)]
}

export function restApp(needs: RouteNeeds & Omit<DoorNeeds, 'routes'>): Hono<DoorEnvironment> {
  return restDoor({ ...needs, routes: restRoutes(needs) })
}
