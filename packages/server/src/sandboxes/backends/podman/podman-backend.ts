/**
 * The podman backend: sandboxes on Podman, root's or the server's own user's.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Everything about containers is the engine backend's; here is only how Podman is found, or started where no service
 * of it runs.
 */
import { getuid } from 'node:process'
import { isHoldfastError } from '@holdfast/protocol'
import type { BackendNeeds } from '../../backend.ts'
import { formatEngineAddress, parseEngineAddress } from '../engine/engine-address.ts'
import { engineBackend, type EngineBackend, type PullPolicy } from '../engine/engine-backend.ts'
import { engineClient, type EngineClient } from '../engine/engine-client.ts'
import { engineUnavailable, type EngineFacts } from '../engine/engine-facts.ts'
import { PodmanInfo, podmanFacts } from './podman-facts.ts'
import { podmanRequest } from './podman-request.ts'
import { podmanInfo, startPodmanService, withWorkingRuntime, type PodmanCommand, type PodmanService } from './podman-service.ts'
import { servicePath, stopOrphanedService } from './service-record.ts'

export interface PodmanSettings {
  /** As in `CONTAINER_HOST`, or a path. Without it the usual places are tried, then a service is started. */
  readonly socket?: string
  readonly binary?: string
  /** For the service that is started; given, the usual places are passed over, for they are another Podman. */
  readonly args?: readonly string[]
  /** Default `missing`: an image that is not there is pulled at creation. */
  readonly pull?: PullPolicy
}

export function podmanBackend(needs: BackendNeeds, settings: PodmanSettings = {}): EngineBackend {
  const command: PodmanCommand = { binary: settings.binary ?? 'podman', args: settings.args ?? [] }
  let connected: EngineClient | null = null
  let starting: Promise<PodmanService> | null = null
  /** The one of `starting` that has answered. */
  let answered: Promise<PodmanService> | null = null
  let working: Promise<PodmanCommand> | null = null

  /** Found out once: which runtime works is a matter of the kernel. */
  function workingCommand(): Promise<PodmanCommand> {
    working ??= withWorkingRuntime(command, new AbortController().signal).catch((error: unknown) => {
      working = null
      throw error
    })
    return working
  }

  function places(): readonly string[] {
    if (settings.socket !== undefined) return [settings.socket]
    const uid = getuid?.() ?? 0
    const usual = uid === 0 ? '/run/podman/podman.sock' : `/run/user/${uid}/podman/podman.sock`
    // Ours comes last: a service that this host keeps running is the better one.
    return command.args.length > 0 ? [servicePath(needs.stateDir)] : [usual, servicePath(needs.stateDir)]
  }

  /** A service that answers already, or the reason why the one that was named does not. */
  async function running(signal: AbortSignal): Promise<EngineClient | null> {
    if (connected !== null) return connected
    for (const place of places()) {
      const client = engineClient('podman', parseEngineAddress(place))
      try {
        await client.version(signal)
        return (connected = client)
      } catch (error) {
        client.close()
        if (settings.socket !== undefined) throw explained(error)
      }
    }
    return null
  }

  /** Shared by every caller, so no single caller's signal may end it; it has its own deadline. */
  function started(): Promise<PodmanService> {
    if (starting !== null) return starting
    const onExit = (): void => {
      if (starting !== attempt) return
      starting = null
      connected = null
    }
    const attempt = workingCommand().then((found) => startPodmanService(found, needs.stateDir, onExit))
    attempt.then(() => (answered = attempt), onExit)
    return (starting = attempt)
  }

  async function facts(signal: AbortSignal): Promise<EngineFacts> {
    const client = await running(signal)
    if (client === null) return podmanFacts(await podmanInfo(await workingCommand(), signal), needs, signal)
    if (client.address.kind === 'tcp') {
      const where = formatEngineAddress(client.address)
      throw engineUnavailable(
        `Podman at ${where} may be on another machine, where this server's files are not`,
        'run the server beside it and use its unix socket',
      )
    }
    try {
      return await podmanFacts(await client.get('/libpod/info', PodmanInfo, signal), needs, signal)
    } catch (error) {
      connected = null
      throw explained(error)
    }
  }

  return engineBackend(
    {
      kind: 'podman',
      createRequest: podmanRequest,
      facts,
      forget() {
        // Not closed: others may be in the middle of a call.
        connected = null
        // Nothing listens any more, so it has died, perhaps before Node noticed.
        if (starting === answered) starting = null
      },
      async client(signal) {
        return (await running(signal)) ?? (connected = (await started()).client)
      },
      async close() {
        const service = await starting?.catch(() => null)
        connected?.close()
        connected = null
        starting = null
        await service?.stop()
        await stopOrphanedService(needs.stateDir)
      },
    },
    needs,
    settings.pull ?? 'missing',
  )
}

/** Turns a connection failure into its reason and fix; anything else stays what it is. */
function explained(error: unknown): unknown {
  if (!isHoldfastError(error, 'backend_unavailable')) return error
  const { errno, address, apiVersion } = error.details
  const where = String(address)
  if (apiVersion !== undefined) return engineUnavailable(error.message, 'upgrade Podman to 4.0 or newer', error)
  if (errno === 'EACCES')
    return engineUnavailable(
      `this user may not use Podman's socket ${where}`,
      'use this user’s own Podman, or run the server with sudo',
      error,
    )
  if (errno === 'ENOENT' || errno === 'ECONNREFUSED') {
    return engineUnavailable(
      `Podman's service is not running at ${where}`,
      'systemctl --user start podman.socket (root: sudo systemctl start podman.socket)',
      error,
    )
  }
  return error
}
