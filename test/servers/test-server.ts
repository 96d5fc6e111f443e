/**
 * A server without its doors: the same parts in the same order as `app.ts`, with the clock in the test's hand.
 */
import { join } from 'node:path'
import { loadConfig } from '../../packages/server/src/config.ts'
import { openHome } from '../../packages/server/src/home/home.ts'
import type { Home } from '../../packages/server/src/home/home.ts'
import { lockHome } from '../../packages/server/src/home/lock.ts'
import type { Capabilities, SandboxBackend } from '../../packages/server/src/sandboxes/backend.ts'
import { chooseBackend } from '../../packages/server/src/sandboxes/choose.ts'
import type { OpenBackend } from '../../packages/server/src/sandboxes/choose.ts'
import { destroyOrphans } from '../../packages/server/src/sandboxes/orphans.ts'
import { createBackendRegistry } from '../../packages/server/src/sandboxes/registry.ts'
import { openSessionPlane } from '../../packages/server/src/session-plane.ts'
import type { SessionPlane } from '../../packages/server/src/session-plane.ts'
import { createEventReader } from '../../packages/server/src/sessions/events/read-events.ts'
import type { EventReader } from '../../packages/server/src/sessions/events/read-events.ts'
import { expectedSandboxes } from '../../packages/server/src/sessions/recovery.ts'
import { openStore } from '../../packages/server/src/store/open-store.ts'
import type { Store } from '../../packages/server/src/store/store.ts'
import { jsonLog } from '../../packages/server/src/telemetry/log.ts'
import type { BackendUnderTest } from '../environment/machine.ts'

/** Everything that a child process must be told to be the same server. */
export interface ServerPlan {
  readonly under: BackendUnderTest
  /** Exists. */
  readonly directory: string
  readonly guestPath: string
  readonly storeUrl: string | null
  readonly url: string | null
  /** `HOLDFAST_*` settings. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface TestServer {
  readonly plane: SessionPlane
  readonly sessions: SessionPlane['sessions']
  readonly store: Store
  readonly events: EventReader
  readonly backend: SandboxBackend
  readonly capabilities: Capabilities
  readonly home: Home
  readonly orphansDestroyed: number
  /** Warnings and errors, one JSON line each. */
  readonly logged: readonly string[]
  /** The names of its sandboxes, as its backend has them. */
  sandboxes(): Promise<readonly string[]>
  /** As the process would end it. Safe to call twice. `drainMs`: how long attended commands are waited for. */
  close(drainMs?: number): Promise<void>
}

const DRAIN_MS = 10_000

/**
 * `changed` may stand between the sessions and their backends, `storeOf` between them and their store; `mcpRetryMs` is waited before each
 * further try to start an MCP server.
 */
export async function openTestServer(
  plan: ServerPlan,
  clock: () => number = Date.now,
  changed: (open: OpenBackend) => OpenBackend = (open) => open,
  mcpRetryMs?: readonly number[],
  storeOf: (store: Store) => Store = (store) => store,
): Promise<TestServer> {
  const { under, directory, guestPath, storeUrl, url, settings = {} } = plan
  const { dockerSocket, podmanSocket, image } = under.settings
  const config = loadConfig(
    {},
    {
      HOLDFAST_HOME: join(directory, 'home'),
      HOLDFAST_BACKEND: under.kind,
      HOLDFAST_GUEST_PATH: guestPath,
      HOLDFAST_LIMITS_MEMORY: '128MiB',
      ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: dockerSocket }),
      ...(podmanSocket === undefined ? {} : { HOLDFAST_PODMAN_HOST: podmanSocket }),
      ...(image === undefined ? {} : { HOLDFAST_IMAGE: image }),
      ...settings,
    },
  )
  const home = openHome(config.home)
  const lock = lockHome(home.path)
  const store = storeOf(await openStore({ url: storeUrl, home: home.path }))
  const { serverId, stateDir } = home
  const registry = createBackendRegistry({ serverId, stateDir, guestPath, launcherPath: config.launcherPath }, config)
  const chosen = await chooseBackend(registry.open, { kind: config.backend, image: config.image, isImageNamed: false })
  const expected = await expectedSandboxes(store, serverId)
  const orphans = await destroyOrphans({ chosen: chosen.backend, open: registry.open, stateDir, expected })
  const logged: string[] = []
  const log = jsonLog('warn', (line) => logged.push(line))
  const plane = await openSessionPlane({ config, home, store, chosen, openBackend: changed(registry.open), url, clock, log, mcpRetryMs })

  let ending: Promise<void> | null = null
  const end = async (drainMs: number) => {
    await plane.close(drainMs)
    await registry.close()
    await store.close()
    lock.release()
  }
  return {
    plane,
    sessions: plane.sessions,
    store,
    events: createEventReader({ store, listeners: plane.listeners }),
    backend: chosen.backend,
    capabilities: chosen.capabilities,
    home,
    orphansDestroyed: orphans.destroyed,
    logged,
    sandboxes: async () => (await chosen.backend.list()).map(({ name }) => name).toSorted(),
    close: (drainMs = DRAIN_MS) => (ending ??= end(drainMs)),
  }
}
