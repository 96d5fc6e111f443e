/**
 * The composition root: every part made from its needs, in the order of one request, like a table of contents.
 *
 * ingress → access → policy → sessions → sandboxes → guest → result
 *
 * Alone knows everybody. Built from the right to the left of the arrow, ended from the left to the right.
 */
import { authenticator } from './access/authenticate.ts'
import { openAdminKey } from './access/admin-key.ts'
import { checkListenAddress, hostCheck } from './access/listen-address.ts'
import type { Config } from './config.ts'
import { lockHome } from './home/lock.ts'
import { makePrivateDirectory, openHome } from './home/home.ts'
import { listen } from './ingress/http-listener.ts'
import { restApp } from './ingress/rest/rest.ts'
import { serverMount } from './policy/mounts.ts'
import { sandboxPolicy } from './policy/sandbox-policy.ts'
import type { OnProgress } from './sandboxes/backend.ts'
import { chooseBackend } from './sandboxes/choose.ts'
import type { ChosenBackend } from './sandboxes/choose.ts'
import { destroyOrphans } from './sandboxes/orphans.ts'
import { createBackendRegistry } from './sandboxes/registry.ts'
import { sandboxUserOnHost } from './sandboxes/sandbox-user.ts'
import { createSessions } from './sessions/sessions.ts'
import { createWorkspaces } from './sessions/workspaces.ts'
import type { Log } from './telemetry/log.ts'

const DRAIN_MS = 10_000

export interface RunningServer {
  readonly url: string
  readonly chosen: ChosenBackend
  /** The key, if this start made it: shown once. */
  readonly newKey: string | null
  readonly keyFile: string | null
  readonly orphansDestroyed: number
  /** Stops accepting, drains up to ten seconds, destroys the sandboxes, lets go of the home. Calling it again waits for the same end. */
  close(): Promise<void>
}

export async function startServer(config: Config, log: Log, onProgress?: OnProgress): Promise<RunningServer> {
  checkListenAddress(config.host, config.auth)
  makePrivateDirectory(config.home)
  const lock = lockHome(config.home)
  try {
    return await startLocked(config, log, onProgress, () => lock.release())
  } catch (error) {
    lock.release()
    throw error
  }
}

async function startLocked(config: Config, log: Log, onProgress: OnProgress | undefined, releaseHome: () => void): Promise<RunningServer> {
  const home = openHome(config.home)
  const key = config.auth === 'none' ? null : openAdminKey(home.path, config.apiKey)

  const registry = createBackendRegistry(
    { serverId: home.serverId, stateDir: home.stateDir, guestPath: config.guestPath, launcherPath: config.launcherPath },
    config,
  )
  try {
    const chosen = await chooseBackend(registry.open, {
      kind: config.backend,
      image: config.image,
      isImageNamed: false,
      ...(onProgress === undefined ? {} : { onProgress }),
    })
    const orphans = await destroyOrphans({ chosen: chosen.backend, open: registry.open, stateDir: home.stateDir })
    if (orphans.kept.length > 0) log.warn('orphans-kept', { sandboxes: orphans.kept.join(' ') })
    const policy = sandboxPolicy({
      image: config.image,
      network: config.network,
      limits: config.limits,
      hasImages: chosen.capabilities.images,
    })
    const sessions = createSessions({
      backend: chosen.backend,
      specFor: async (wish, workspaceFiles) => policy.specFor(wish, [await serverMount(workspaceFiles, '/workspace', 'rw')]),
      workspaces: createWorkspaces(home.workspacesDir, sandboxUserOnHost()),
      idleMs: config.idleSeconds * 1000,
      maxSandboxes: config.maxSandboxes,
      log,
    })
    const rest = restApp({
      sessions,
      authenticate: authenticator(key),
      checkHost: hostCheck(config.host),
      health: () => ({ backend: chosen.backend.kind, version: chosen.version }),
      log,
    })
    const listener = await listen((request) => rest.fetch(request), config.host, config.port)
    const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${listener.port}`
    log.info('server-started', { url, backend: chosen.backend.kind, orphans_destroyed: orphans.destroyed })

    let ending: Promise<void> | null = null
    const end = async () => {
      listener.stopAccepting()
      await sessions.close(DRAIN_MS)
      await listener.close()
      await registry.close()
      releaseHome()
      log.info('server-stopped')
    }
    return {
      url,
      chosen,
      newKey: key?.madeNow ?? null,
      keyFile: key?.file ?? null,
      orphansDestroyed: orphans.destroyed,
      close: () => (ending ??= end()),
    }
  } catch (error) {
    await registry.close()
    throw error
  }
}
