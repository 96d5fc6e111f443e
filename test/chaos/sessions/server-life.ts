/**
 * One life of a server without its doors: opened as `app.ts` opens it, over a home and a store that outlive it.
 */
import { join } from 'node:path'
import type { Principal } from '../../../packages/server/src/access/principal.ts'
import { DEFAULT_TENANT_ID } from '../../../packages/server/src/access/principal.ts'
import { loadConfig } from '../../../packages/server/src/config.ts'
import { openHome } from '../../../packages/server/src/home/home.ts'
import type { Home } from '../../../packages/server/src/home/home.ts'
import { lockHome } from '../../../packages/server/src/home/lock.ts'
import { makePrivateDirectory } from '../../../packages/server/src/home/home.ts'
import type { SandboxBackend } from '../../../packages/server/src/sandboxes/backend.ts'
import { chooseBackend } from '../../../packages/server/src/sandboxes/choose.ts'
import { destroyOrphans } from '../../../packages/server/src/sandboxes/orphans.ts'
import { createBackendRegistry } from '../../../packages/server/src/sandboxes/registry.ts'
import { openSessionPlane } from '../../../packages/server/src/session-plane.ts'
import type { SessionPlane } from '../../../packages/server/src/session-plane.ts'
import type { Caller } from '../../../packages/server/src/sessions/caller.ts'
import { expectedSandboxes } from '../../../packages/server/src/sessions/recovery.ts'
import { openStore } from '../../../packages/server/src/store/open-store.ts'
import type { Store } from '../../../packages/server/src/store/store.ts'
import { jsonLog } from '../../../packages/server/src/telemetry/log.ts'
import type { BackendUnderTest } from '../../environment/machine.ts'

/** What outlives a server. */
export interface Ground {
  /** Has a name that nothing else on the machine bears, and holds `guest`. */
  readonly directory: string
  /** `null`: a SQLite file in the home. */
  readonly storeUrl: string | null
  readonly launcherPath: string
  readonly under: BackendUnderTest
}

export interface ServerLife {
  readonly plane: SessionPlane
  readonly store: Store
  readonly backend: SandboxBackend
  readonly home: Home
  readonly caller: Caller
  /** Milliseconds by which this server's clock is ahead. */
  readonly aheadMs: number
  /** Moves the clock on. */
  wait(ms: number): void
  readonly logged: readonly string[]
  close(): Promise<void>
}

export interface LifeOptions {
  /** Several homes make several servers. */
  readonly homeName?: string
  readonly aheadMs?: number
  readonly wrapStore?: (store: Store) => Store
  readonly wrapBackend?: (backend: SandboxBackend) => SandboxBackend
  /** Called when everything is open but the sessions. */
  readonly beforeRecovery?: () => void
}

export const OWNER: Principal = {
  tenantId: DEFAULT_TENANT_ID,
  subject: 'owner',
  groups: [],
  role: 'platform_admin',
  kind: 'user',
  keyId: null,
  onBehalfOf: null,
}

export async function openLife({ directory, storeUrl, launcherPath, under }: Ground, options: LifeOptions = {}): Promise<ServerLife> {
  const path = join(directory, options.homeName ?? 'home')
  const config = loadConfig(
    {},
    {
      HOLDFAST_HOME: path,
      HOLDFAST_BACKEND: under.kind,
      HOLDFAST_GUEST_PATH: join(directory, 'guest'),
      HOLDFAST_GUEST_LAUNCHER: launcherPath,
      ...(storeUrl === null ? {} : { HOLDFAST_STORE_URL: storeUrl }),
      ...(under.settings.dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: under.settings.dockerSocket }),
      ...(under.settings.image === undefined ? {} : { HOLDFAST_IMAGE: under.settings.image }),
    },
  )
  const logged: string[] = []
  const log = jsonLog('info', (line) => logged.push(line))
  let aheadMs = options.aheadMs ?? 0
  makePrivateDirectory(path)
  const lock = lockHome(path)
  const home = openHome(path)
  const opened = await openStore({ url: storeUrl, home: path })
  const store = options.wrapStore?.(opened) ?? opened
  const { guestPath } = config
  const registry = createBackendRegistry({ serverId: home.serverId, stateDir: home.stateDir, guestPath, launcherPath }, config)
  const wrapped = new Map<SandboxBackend, SandboxBackend>()
  const open: typeof registry.open = async (kind) => {
    const backend = await registry.open(kind)
    if (options.wrapBackend === undefined) return backend
    const known = wrapped.get(backend) ?? options.wrapBackend(backend)
    wrapped.set(backend, known)
    return known
  }
  const chosen = await chooseBackend(open, { kind: under.kind, image: config.image, isImageNamed: false })
  options.beforeRecovery?.()
  const expected = await expectedSandboxes(store, home.serverId)
  await destroyOrphans({ chosen: chosen.backend, open, stateDir: home.stateDir, expected })
  const clock = () => Date.now() + aheadMs
  const plane = await openSessionPlane({ config, home, store, chosen, openBackend: open, url: null, clock, log })
  return {
    plane,
    store,
    backend: chosen.backend,
    home,
    caller: await plane.callerOf(OWNER),
    get aheadMs() {
      return aheadMs
    },
    wait(ms) {
      aheadMs += ms
    },
    logged,
    async close() {
      await plane.close(0)
      await registry.close()
      await store.close()
      lock.release()
    },
  }
}
