/**
 * The engine's own create and start, for comparison: the same image and options as a sandbox, but the first process only sleeps and nobody
 * waits for it.
 */
import { join } from 'node:path'
import { randomId } from '../packages/server/src/home/random-id.ts'
import type { BackendKind, BackendNeeds } from '../packages/server/src/sandboxes/backend.ts'
import { dockerFacts } from '../packages/server/src/sandboxes/backends/docker/docker-facts.ts'
import { dockerBody } from '../packages/server/src/sandboxes/backends/docker/docker-request.ts'
import type { ContainerWish, EngineTraits } from '../packages/server/src/sandboxes/backends/engine/container-plan.ts'
import { parseEngineAddress } from '../packages/server/src/sandboxes/backends/engine/engine-address.ts'
import {
  engineClient,
  refusalReason,
  type CreateRequest,
  type EngineClient,
} from '../packages/server/src/sandboxes/backends/engine/engine-client.ts'
import { findImage } from '../packages/server/src/sandboxes/backends/engine/engine-image.ts'
import { sandboxDirectories } from '../packages/server/src/sandboxes/backends/engine/sandbox-directory.ts'
import { sandboxUserOnHost } from '../packages/server/src/sandboxes/sandbox-user.ts'
import { PodmanInfo, podmanFacts } from '../packages/server/src/sandboxes/backends/podman/podman-facts.ts'
import { podmanBody } from '../packages/server/src/sandboxes/backends/podman/podman-request.ts'
import type { Place } from './ground.ts'

const SLEEP = ['sleep', 'infinity']
const LABEL = 'holdfast.bench'
const NEVER = new AbortController().signal

/** A container that is not there yet, with everything ready that is not the engine's own work. */
export interface UnstartedContainer {
  start(): Promise<void>
  remove(): Promise<void>
}

export interface EngineReference {
  prepare(): Promise<UnstartedContainer>
  close(): Promise<void>
}

type EngineKind = 'docker' | 'podman'

export function isEngine(kind: BackendKind): kind is EngineKind {
  return kind === 'docker' || kind === 'podman'
}

export async function createEngineReference({ under, needs, spec }: Place): Promise<EngineReference> {
  const { kind, settings } = under
  if (!isEngine(kind)) throw new TypeError(`${kind} is not an engine`)
  const client = engineClient(kind, parseEngineAddress((kind === 'docker' ? settings.dockerSocket : settings.podmanSocket) ?? ''))
  const traits = await traitsOf(kind, client, needs)
  const image = await findImage(client, spec.image ?? '', NEVER)
  if (image === null) throw new Error(`the image ${spec.image} is not on the engine`)
  // Beside the backend's own directories, which it lists as sandboxes.
  const directories = sandboxDirectories(kind, { ...needs, stateDir: join(needs.stateDir, 'reference') })

  const wish = (name: string, ownsTmpfs: boolean): ContainerWish => ({
    spec,
    user: sandboxUserOnHost(),
    traits: { ...traits, ownsTmpfs },
    imageId: image.id,
    imageVolumes: image.volumes,
    guestPath: needs.guestPath,
    socketDirectory: directories.path(name),
    hostsPath: directories.hostsPath(name),
    labels: { [LABEL]: needs.serverId },
  })

  function container(name: string, ownsTmpfs: boolean): UnstartedContainer {
    return {
      async start() {
        await client.createContainer(sleepRequest(kind === 'docker' ? 'docker' : 'podman', name, wish(name, ownsTmpfs)), NEVER)
        await client.startContainer(name, NEVER)
      },
      async remove() {
        await client.removeContainer(name, NEVER)
        await directories.remove(name)
      },
    }
  }

  async function prepared(ownsTmpfs: boolean): Promise<UnstartedContainer> {
    const name = randomId('sbx')
    await directories.make(name)
    return container(name, ownsTmpfs)
  }

  const ownsTmpfs = traits.ownsTmpfs && (await takesTmpfsOwner(() => prepared(true)))
  return {
    prepare: () => prepared(ownsTmpfs),
    async close() {
      // What a failed run left; usually nothing.
      const left = await client.listContainers([`${LABEL}=${needs.serverId}`], NEVER)
      for (const { Id } of left) await client.removeContainer(Id, NEVER)
      client.close()
    },
  }
}

/** Only the engine's own answer tells, as for the backend. */
async function takesTmpfsOwner(prepare: () => Promise<UnstartedContainer>): Promise<boolean> {
  const trial = await prepare()
  try {
    await trial.start()
    return true
  } catch (error) {
    if (!refusalReason(error).includes('unknown mount option')) throw error
    return false
  } finally {
    await trial.remove()
  }
}

async function traitsOf(kind: EngineKind, client: EngineClient, needs: BackendNeeds): Promise<EngineTraits> {
  if (kind === 'docker') return (await dockerFacts(client, needs, NEVER)).traits
  return (await podmanFacts(await client.get('/libpod/info', PodmanInfo, NEVER), needs, NEVER)).traits
}

function sleepRequest(kind: EngineKind, name: string, wish: ContainerWish): CreateRequest {
  if (kind === 'docker') return { path: '/containers/create', query: { name }, body: { ...dockerBody(wish), Entrypoint: SLEEP } }
  return { path: '/libpod/containers/create', body: { ...podmanBody(name, wish), entrypoint: SLEEP } }
}
