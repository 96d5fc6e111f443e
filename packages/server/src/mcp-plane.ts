/**
 * MCP servers in boxes, put together over the sessions that are there: which are configured, and which run.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * A part of the composition root.
 */
import { DEFAULT_TENANT_ID } from './access/principal.ts'
import type { Sealing } from './home/sealing.ts'
import { lateLaunching } from './mcp/run/late-launching.ts'
import { createMcpRuns } from './mcp/run/mcp-runs.ts'
import type { McpRuns } from './mcp/run/mcp-runs.ts'
import { observedLaunching } from './mcp/run/observed-launching.ts'
import { createOwnBoxes } from './mcp/run/own-boxes.ts'
import { placesOf } from './mcp/run/place.ts'
import { recentSessions } from './mcp/run/recent-sessions.ts'
import { createMcpServers } from './mcp/servers/mcp-servers.ts'
import type { McpServer, McpServers } from './mcp/servers/mcp-servers.ts'
import type { SessionMounts } from './policy/session-mounts.ts'
import type { TenantPipelines } from './policy/tenant-pipelines.ts'
import type { EventListeners } from './sessions/events/event-listeners.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { Store } from './store/store.ts'
import { errorText } from './telemetry/log.ts'
import type { Log } from './telemetry/log.ts'
import type { McpObserver } from './telemetry/observations.ts'

const SWEEP_MS = 60_000

export interface McpPlane {
  readonly servers: McpServers
  readonly runs: McpRuns
  /** Goes on with what an earlier life of the server left; call it once. Nobody has to wait for it. */
  recover(): void
  /** Resolves when that is done, and what earlier changes ask for. */
  settled(): Promise<void>
  /** Lets go of what runs: it runs on. */
  close(): Promise<void>
}

export interface McpPlaneNeeds {
  readonly store: Store
  readonly sealing: Sealing
  readonly sessions: Sessions
  readonly listeners: EventListeners
  readonly pipelines: TenantPipelines
  readonly mounts: SessionMounts
  readonly serverId: string
  readonly clock: () => number
  readonly log: Log
  readonly observer: McpObserver
  /** Before each further try to start a server. */
  readonly retryMs?: readonly number[] | undefined
}

export function openMcpPlane(needs: McpPlaneNeeds): McpPlane {
  const { store, sealing, sessions, listeners, pipelines, mounts, serverId, clock, log, observer, retryMs } = needs
  let following: Promise<void> = Promise.resolve()
  let recovering: Promise<void> = Promise.resolve()
  const recent = recentSessions({ listeners, clock })
  const servers = createMcpServers({ store, sealing, clock, sharedTenantId: DEFAULT_TENANT_ID, onChange: follow })
  const runs = createMcpRuns({
    ...{ store, servers, sessions, serverId, clock, log, retryMs },
    placeOf: placesOf({ sessions, pipelines, mounts, recent }),
    launching: observedLaunching(lateLaunching({ store, sessions, mounts, clock, log, observer }), observer),
  })

  const ownBoxes = createOwnBoxes({ store, servers, steering: sessions.steering, pipelines, serverId, log })

  // Other Holdfast servers change configurations too.
  const sweeping = setInterval(() => next(() => ownBoxes.release()), SWEEP_MS)
  sweeping.unref()

  /** One after the other. */
  function next(work: () => Promise<void>): void {
    following = following.then(work).catch((error: unknown) => log.warn('mcp-change-not-followed', { error: errorText(error) }))
  }

  /** What runs by an older configuration ends. */
  function follow(changed: Pick<McpServer, 'tenantId' | 'name'>): void {
    next(async () => {
      await runs.retire(changed)
      await ownBoxes.release()
    })
  }

  async function settled(): Promise<void> {
    await Promise.all([recovering, following])
  }

  return {
    servers,
    runs,
    recover() {
      // Beside what changes ask for: servers that do not answer hold nobody up.
      recovering = runs
        .recover()
        .then(() => ownBoxes.release())
        .catch((error: unknown) => log.warn('mcp-not-recovered', { error: errorText(error) }))
    },
    settled,
    async close() {
      clearInterval(sweeping)
      runs.close()
      recent.close()
      await settled()
    },
  }
}
