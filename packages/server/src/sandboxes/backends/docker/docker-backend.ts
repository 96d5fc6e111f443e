/**
 * The docker backend: sandboxes on a Docker engine of this host.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Everything about containers is the engine backend's; here is only how Docker is found and what it says about itself.
 */
import { getuid } from 'node:process'
import type { BackendNeeds } from '../../backend.ts'
import { parseEngineAddress } from '../engine/engine-address.ts'
import { engineBackend, type EngineBackend, type PullPolicy } from '../engine/engine-backend.ts'
import { engineClient, type EngineClient } from '../engine/engine-client.ts'
import { dockerRequest } from './docker-request.ts'
import { dockerFacts, explainDockerFailure } from './docker-facts.ts'

export interface DockerSettings {
  /** As in `DOCKER_HOST`, or a path. Without it the usual places are tried. */
  readonly socket?: string
  /** Default `missing`: an image that is not there is pulled at creation. */
  readonly pull?: PullPolicy
}

export function dockerBackend(needs: BackendNeeds, settings: DockerSettings = {}): EngineBackend {
  const addresses = settings.socket === undefined ? ['/var/run/docker.sock', `/run/user/${getuid?.() ?? 0}/docker.sock`] : [settings.socket]
  let connected: EngineClient | null = null

  /** The first that answers; when none does, the first one's reason, because it is the one people expect. */
  async function connect(signal: AbortSignal): Promise<EngineClient> {
    let failure: unknown = null
    for (const address of addresses) {
      const client = engineClient('docker', parseEngineAddress(address))
      try {
        await client.version(signal)
        return client
      } catch (error) {
        client.close()
        failure ??= error
      }
    }
    throw await explainDockerFailure(failure)
  }

  const client = async (signal: AbortSignal): Promise<EngineClient> => (connected ??= await connect(signal))

  return engineBackend(
    {
      kind: 'docker',
      createRequest: dockerRequest,
      client,
      // Not closed: others may be in the middle of a call.
      forget: () => (connected = null),
      async facts(signal) {
        try {
          return await dockerFacts(await client(signal), needs, signal)
        } catch (error) {
          // The daemon may come back elsewhere, or as another version.
          connected = null
          throw await explainDockerFailure(error)
        }
      },
      async close() {
        connected?.close()
        connected = null
      },
    },
    needs,
    settings.pull ?? 'missing',
  )
}
