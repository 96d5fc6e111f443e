/**
 * The composition root: every part made from its needs, in the order of one request, like a table of contents.
 *
 * ingress → access → policy → sessions → sandboxes → guest → result
 *
 * Alone knows everybody, with `session-plane.ts` for what lies behind the doors. What is opened last is ended first.
 */
import { join } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol'
import { createAuthenticator } from './access/authenticate.ts'
import type { VerifyToken } from './access/authenticate.ts'
import { openAdminKey } from './access/admin-key.ts'
import { clientAddresses } from './access/client-address.ts'
import { checkListenAddress, hostCheck } from './access/listen-address.ts'
import { rateLimit } from './access/rate-limits.ts'
import { slowGuessing } from './access/slow-guessing.ts'
import type { BoxPlane, BoxPlaneNeeds } from './box-plane.ts'
import type { Config } from './config.ts'
import { lockHome } from './home/lock.ts'
import { makePrivateDirectory, openHome } from './home/home.ts'
import { giveBackWhenFull, openDiskReserve } from './home/disk-reserve.ts'
import { databasePathOf, homeHealth } from './home/home-health.ts'
import { openSteadyClock } from './home/steady-clock.ts'
import type { AwaitedBackend } from './ingress/box/backend-wait.ts'
import type { BoxDoor } from './ingress/box/box-door.ts'
import { checkBoxSettings, checkStdioSettings } from './ingress/box/settings.ts'
import { listen } from './ingress/http-listener.ts'
import type { Direct, Fetch, HttpListener, Upgrade } from './ingress/http-listener.ts'
import { mcpDoor } from './ingress/mcp/mcp-door.ts'
import { workBudget } from './ingress/pipeline/work-budget.ts'
import { previewMaker } from './ingress/preview/make-preview.ts'
import { previewAddresses } from './ingress/preview/preview-address.ts'
import { previewDoor } from './ingress/preview/preview-door.ts'
import { rememberedProbes } from './ingress/rest/backend-probes.ts'
import { frontPage } from './ingress/rest/front-page.ts'
import { createIdempotency } from './ingress/rest/idempotency.ts'
import { restApp } from './ingress/rest/rest.ts'
import { socketDoor } from './ingress/sockets/socket-door.ts'
import { socketRows } from './ingress/sockets/sockets.ts'
import { readinessCheck } from './ingress/rest/server-readiness.ts'
import { defaultObstacles } from './policy/default-obstacles.ts'
import { pullableImages } from './policy/pullable-images.ts'
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
import { createMetrics } from './telemetry/metrics/metrics.ts'
import { stateSources } from './telemetry/metrics/state-sources.ts'
import { openTracing } from './telemetry/open-tracing.ts'

/** For the last words to those whose commands were ended. */
const FAREWELL_MS = 2_000

export interface RunningServer {
  readonly url: string
  readonly chosen: ChosenBackend
  readonly plane: SessionPlane
  readonly store: Store
  /** The key, if this start made it: shown once. */
  readonly newKey: string | null
  readonly keyFile: string | null
  readonly orphansDestroyed: number
  /** Why every sandbox with the configured defaults is refused; empty where they can be made. */
  readonly obstacles: readonly string[]
  /** `null`: it is closed. */
  readonly box: BoxDoor | null
  /** Takes no new work, drains up to `sessions.drain_seconds`, lets go of the sandboxes and the home. Calling it again waits for the same end. */
  close(): Promise<void>
}

export interface StartOptions {
  /** A Box client speaks on the pipes of this process: who it is must be known, and an address that is taken is only told. */
  readonly hasBoxPipes?: boolean
}

export async function startServer(config: Config, log: Log, onProgress?: OnProgress, options: StartOptions = {}): Promise<RunningServer> {
  checkListenAddress(config.host, config.auth)
  checkBoxSettings(config.box, config.host)
  if (options.hasBoxPipes === true) checkStdioSettings(config.box)
  makePrivateDirectory(config.home)
  const wasFull = giveBackWhenFull(config.home)
  const endings: Ending[] = []
  try {
    return await start(config, log, onProgress, endings, options, wasFull)
  } catch (error) {
    await endAll(endings)
    throw error
  }
}

/** Loaded only where it is used. */
async function openTokens({ oidc }: Config, { tenants }: SessionPlane): Promise<VerifyToken | null> {
  if (oidc === null) return null
  const [{ tokenVerifier }, { fetchJson }] = await Promise.all([import('./access/oidc/tokens.ts'), import('./access/oidc/fetch-json.ts')])
  return tokenVerifier({ rules: oidc, tenants, fetchJson, clock: Date.now })
}

/** Loaded only where it is open. */
async function openBox(needs: BoxPlaneNeeds): Promise<BoxPlane | null> {
  if (!needs.config.box.isEnabled) return null
  const { openBoxPlane } = await import('./box-plane.ts')
  return openBoxPlane(needs)
}

/** Loaded only where it is used. */
async function awaitBoxBackend(
  { host, port, home, publicUrl, backend, box: settings }: Config,
  choose: () => Promise<ChosenBackend>,
  log: Log,
): Promise<AwaitedBackend<ChosenBackend>> {
  const { awaitBackend } = await import('./ingress/box/backend-wait.ts')
  return awaitBackend({
    ...{ choose, settings, host, port, checkHost: hostCheck(host, publicUrl), log },
    backendName: backend === 'auto' ? null : backend,
    transfersDirectory: join(home, 'box', 'transfers'),
  })
}

type Ending = () => void | Promise<void>

async function endAll(endings: Ending[]): Promise<void> {
  for (const end of endings.splice(0).toReversed()) await end()
}

/** Whatever is opened says at once how it is ended. */
async function start(
  config: Config,
  log: Log,
  onProgress: OnProgress | undefined,
  endings: Ending[],
  { hasBoxPipes = false }: StartOptions,
  wasFull: boolean,
): Promise<RunningServer> {
  const lock = lockHome(config.home)
  endings.push(() => lock.release())
  const home = openHome(config.home)
  const { serverId, stateDir } = home
  const steadyClock = openSteadyClock({ home: home.path, log })
  endings.push(() => steadyClock.close())
  const clock = steadyClock.now
  const reserve = openDiskReserve({ home: home.path, log, wasGivenBack: wasFull })
  endings.push(() => reserve.close())
  const adminKey = config.auth === 'none' ? null : openAdminKey(home.path, config.apiKey)
  const tracing = await openTracing(config.otlpUrl, { serverId, release: RELEASE, log })
  endings.push(() => tracing.close())
  const metrics = createMetrics(tracing)
  const { observer } = metrics
  const onMigrated = (from: number, to: number) => log.info('database-migrated', { from_version: from, to_version: to })
  const store = await openStore({ url: config.storeUrl, home: home.path, onFull: reserve.giveBack, onMigrated }, observer)
  endings.push(() => store.close())
  void reserve.restore()

  const mayPull = pullableImages({
    configured: [config.image, ...config.profiles.map(({ image }) => image)],
    allowed: config.allowedImages,
  })
  const registry = createBackendRegistry(
    { serverId, stateDir, guestPath: config.guestPath, launcherPath: config.launcherPath, log },
    { ...config, mayPull },
  )
  endings.push(() => registry.close())
  const wish = { kind: config.backend, image: config.image, isImageNamed: false }
  const choose = () => chooseBackend(registry.open, onProgress === undefined ? wish : { ...wish, onProgress })
  // On pipes there is nobody to wait for it: LangBot starts the program again.
  const awaited =
    config.box.isEnabled && !hasBoxPipes ? await awaitBoxBackend(config, choose, log) : { chosen: await choose(), port: config.port }
  const { chosen } = awaited
  const obstacles = defaultObstacles(config, chosen.capabilities)
  for (const problem of obstacles) log.warn('defaults-refused', { problem })
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
    clock,
    log,
    observer,
  })
  const drainMs = config.sessions.drainSeconds * 1000
  endings.push(() => plane.close(drainMs))
  metrics.describe({ release: RELEASE, backend: chosen.backend.kind, store: store.dialect })
  metrics.watch(stateSources({ store, sessions: plane.sessions, mcp: plane.mcp.runs, steadyClock }))

  const verifyToken = await openTokens(config, plane)
  let isStopping = false
  const budget = workBudget(config.inFlight)
  const entrance = {
    authenticate: slowGuessing({
      authenticate: createAuthenticator({ adminKey, keys: plane.keys, tenants: plane.tenants, verifyToken }),
      rate: config.rates.failures,
      clock: Date.now,
      log,
    }),
    admit: rateLimit({ rate: config.rates.requests, serviceRate: config.rates.services, clock: Date.now }),
    budget,
    clientAddress: clientAddresses(config.trustedProxies),
    callerOf: plane.callerOf,
    checkHost: hostCheck(config.host, config.publicUrl),
    allowedOrigins: new Set(config.allowedOrigins),
    log,
  }
  let { port } = awaited
  const addresses = previewAddresses({ publicUrl: config.publicUrl, domain: config.previewDomain, port: () => port })
  const makePreview = previewMaker({ reads: plane.sessions.reads, links: plane.previewLinks, addresses })
  const idempotency = createIdempotency({
    store,
    sealing: plane.sealing,
    key: plane.keyFor('idempotency'),
    clock,
    kept: plane.sessions.kept,
    serverId,
  })
  let box: BoxPlane | null = null
  const health = () => ({ version: RELEASE, backend: chosen.backend.kind, backend_version: chosen.version })
  const rest = restApp({
    ...entrance,
    ...{ store, sessions: plane.sessions, tenants: plane.tenants, keys: plane.keys, webhooks: plane.webhooks, scopes: plane.scopes },
    skills: plane.skills,
    ...{ profiles: plane.profiles, usualProfile: plane.usualProfile, pipelines: plane.pipelines },
    tools: plane.tools,
    makePreview,
    ...{ fileLinks: plane.fileLinks, publicUrl: config.publicUrl },
    mcp: plane.mcp,
    listeners: plane.listeners,
    boxOverview: () => box?.overview ?? null,
    idempotency,
    pageKey: plane.keyFor('page tokens'),
    quotas: config.quotas,
    scopeRules: { default: config.defaultScope ?? DEFAULT_SCOPE, forced: config.forcedScope },
    chosenBackend: chosen.backend.kind,
    probeBackends: rememberedProbes(registry.open, Date.now),
    health,
    frontPage: frontPage(health),
    checkReady: readinessCheck({
      ...{ store, clock: Date.now, isStopping: () => isStopping },
      checkHome: homeHealth({ home, reserve, log, databasePath: config.storeUrl === null ? databasePathOf(home.path) : null }),
      canServe: obstacles.length === 0,
      askBackend: (signal) => chosen.backend.list(signal),
    }),
    steadyClock,
    metrics,
    isMetricsPublic: config.isMetricsPublic,
    observer,
    release: RELEASE,
  })
  const { sessions } = plane
  const mcp = mcpDoor({
    ...entrance,
    ...{ idempotency, observer, sessions, tools: plane.tools, scopes: plane.scopes, pipelines: plane.pipelines, mcp: plane.mcp },
    ...{ makePreview, release: RELEASE, clock },
  })
  endings.push(() => mcp.close())
  const sockets = socketDoor({ ...entrance, rows: socketRows(sessions), reads: sessions.reads, observer })
  const preview = previewDoor({ ...entrance, addresses, links: plane.previewLinks, sessions, observer })
  const { checkHost, allowedOrigins } = entrance
  box = await openBox({ config, home, plane, store, chosen, budget, checkHost, allowedOrigins, clock, log })
  endings.push(async () => box?.close())
  const fetch: Fetch = (request, peer) => (mcp.serves(request.url) ? mcp : rest).fetch(request, { peer })
  // Before all others: no other door answers to the hosts of links.
  const upgrade: Upgrade = (request, connection, head) => {
    const door = preview.serves(request) ? preview : box?.serves(request.url ?? '/') === true ? box : sockets
    door.upgrade(request, connection, head)
  }
  const direct: Direct = (...asked) => preview.direct(...asked) || mcp.direct(...asked)
  const listening = listen(box?.health.over(fetch) ?? fetch, upgrade, config.host, port, direct, config.connections)
  const listener = await (hasBoxPipes ? orUnheard(listening, config, log) : listening)
  port = listener.port
  endings.push(() => listener.close())
  endings.push(() => sockets.close())
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${listener.port}`
  log.info('server-started', { url, backend: chosen.backend.kind, orphans_destroyed: orphans.destroyed, ...plane.recovered })

  let ending: Promise<void> | null = null
  const close = async () => {
    isStopping = true
    preview.close()
    // Who comes now is told so, and who is waited for may still look at the work and type into it: the address goes last.
    await Promise.all([sockets.close(), box?.close()])
    // Whoever does not read cannot be told of the end either, and would be waited for without one.
    const cutting = setTimeout(() => void listener.close(), drainMs + FAREWELL_MS)
    await plane.close(drainMs)
    clearTimeout(cutting)
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
    obstacles,
    box,
    close: () => (ending ??= close()),
  }
}

async function orUnheard(listening: Promise<HttpListener>, { host, port }: Config, log: Log): Promise<HttpListener> {
  try {
    return await listening
  } catch (error) {
    if (!isHoldfastError(error, 'listen_failed')) throw error
    log.warn('listen-failed', { problem: error.message })
    return { host, port, close: async () => undefined }
  }
}
