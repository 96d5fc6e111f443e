/**
 * The composition root: every part made from its needs, in the order of one request, like a table of contents.
 *
 * ingress → access → policy → sessions → sandboxes → guest → result
 *
 * Alone knows everybody, with `session-plane.ts` for what lies behind the doors. What is opened last is ended first.
 */
import { HoldfastError } from '@holdfast/protocol'
import { createAuthenticator } from './access/authenticate.ts'
import { openAdminKey } from './access/admin-key.ts'
import { checkListenAddress, hostCheck } from './access/listen-address.ts'
import type { Config } from './config.ts'
import { lockHome } from './home/lock.ts'
import { makePrivateDirectory, openHome } from './home/home.ts'
import { listen } from './ingress/http-listener.ts'
import { rememberedProbes } from './ingress/rest/backend-probes.ts'
import { createIdempotency } from './ingress/rest/idempotency.ts'
import { restApp } from './ingress/rest/rest.ts'
import { DEFAULT_SCOPE } from './policy/scopes/choices.ts'
import { RELEASE } from './release.ts'
import type { OnProgress } from './sandboxes/backend.ts'
import { chooseBackend } from './sandboxes/choose.ts'
import type { ChosenBackend } from './sandboxes/choose.ts'
import { destroyOrphans } from './sandboxes/orphans.ts'
import { createBackendRegistry } from './sandboxes/registry.ts'
import { openSessionPlane } from './session-plane.ts'
import type { SessionPlane } from './session-plane.ts'
import { expectedSandboxes } from './sessions/recovery.ts'
import { openStore } from './store/open-store.ts'
import type { Store } from './store/store.ts'
import type { Log } from './telemetry/log.ts'

const DRAIN_MS = 10_000

export interface RunningServer {
  readonly url: string
  readonly chosen: ChosenBackend
  readonly plane: SessionPlane
  readonly store: Store
  /** The key, if this start made it: shown once. */
  readonly newKey: string | null
  readonly keyFile: string | null
  readonly orphansDestroyed: number
  /** Stops accepting, drains up to ten seconds, lets go of the sandboxes and the home. Calling it again waits for the same end. */
  close(): Promise<void>
}

export async function startServer(config: Config, log: Log, onProgress?: OnProgress): Promise<RunningServer> {
  checkListenAddress(config.host, config.auth)
  makePrivateDirectory(config.home)
  const endings: Ending[] = []
  try {
    return await start(config, log, onProgress, endings)
  } catch (error) {
    await endAll(endings)
    throw error
  }
}

type Ending = () => void | Promise<void>

async function endAll(endings: Ending[]): Promise<void> {
  for (const end of endings.splice(0).toReversed()) await end()
}

/** Whatever is opened says at once how it is ended. */
async function start(config: Config, log: Log, onProgress: OnProgress | undefined, endings: Ending[]): Promise<RunningServer> {
  const lock = lockHome(config.home)
  endings.push(() => lock.release())
  const home = openHome(config.home)
  const { serverId, stateDir } = home
  const adminKey = config.auth === 'none' ? null : openAdminKey(home.path, config.apiKey)
  const store = await openStore({ url: config.storeUrl, home: home.path })
  endings.push(() => store.close())

  const registry = createBackendRegistry({ serverId, stateDir, guestPath: config.guestPath, launcherPath: config.launcherPath }, config)
  endings.push(() => registry.close())
  const wish = { kind: config.backend, image: config.image, isImageNamed: false }
  const chosen = await chooseBackend(registry.open, onProgress === undefined ? wish : { ...wish, onProgress })
  const expected = await expectedSandboxes(store, serverId)
  const orphans = await destroyOrphans({ chosen: chosen.backend, open: registry.open, stateDir, expected })
  if (orphans.kept.length > 0) log.warn('orphans-kept', { sandboxes: orphans.kept.join(' ') })

  const plane = await openSessionPlane({
    config,
    home,
    store,
    chosen,
    openBackend: registry.open,
    url: config.publicUrl,
    clock: Date.now,
    log,
  })
  endings.push(() => plane.close(DRAIN_MS))

  let isStopping = false
  const rest = restApp({
    ...{ store, log, sessions: plane.sessions, tenants: plane.tenants, keys: plane.keys, webhooks: plane.webhooks, scopes: plane.scopes },
    listeners: plane.listeners,
    authenticate: createAuthenticator({ adminKey, keys: plane.keys, tenants: plane.tenants }),
    callerOf: plane.callerOf,
    checkHost: hostCheck(config.host),
    idempotency: createIdempotency({ store, sealing: plane.sealing, key: plane.keyFor('idempotency'), clock: Date.now }),
    pageKey: plane.keyFor('page tokens'),
    quotas: config.quotas,
    scopeRules: { default: config.defaultScope ?? DEFAULT_SCOPE, forced: config.forcedScope },
    chosenBackend: chosen.backend.kind,
    probeBackends: rememberedProbes(registry.open, Date.now),
    health: () => ({ backend: chosen.backend.kind, version: chosen.version }),
    async checkReady() {
      if (isStopping) throw new HoldfastError('server_stopping', 'the server is stopping')
      await store.read((sql) => sql.get('SELECT 1 AS one'))
    },
    release: RELEASE,
  })
  const listener = await listen((request) => rest.fetch(request), config.host, config.port)
  endings.push(() => listener.close())
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${listener.port}`
  log.info('server-started', { url, backend: chosen.backend.kind, orphans_destroyed: orphans.destroyed, ...plane.recovered })

  let ending: Promise<void> | null = null
  const close = async () => {
    isStopping = true
    // Commands that are being answered end before their connections do.
    listener.stopAccepting()
    await plane.close(DRAIN_MS)
    await endAll(endings)
    log.info('server-stopped')
  }
  return {
    url,
    chosen,
    plane,
    store,
    newKey: adminKey?.madeNow ?? null,
    keyFile: adminKey?.file ?? null,
    orphansDestroyed: orphans.destroyed,
    close: () => (ending ??= close()),
  }
}
