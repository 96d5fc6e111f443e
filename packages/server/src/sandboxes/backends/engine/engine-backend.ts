/**
 * Sandboxes as containers: the backend port over one engine, the same for Docker and Podman.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Holds always: nothing is created before every wish is known to be honoured; a failed creation is undone before it is
 * reported; only containers and directories labelled with this server's id are ever touched. There is no lock: any
 * number of creations run side by side.
 */
import { realpath, stat } from 'node:fs/promises'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { BackendNeeds, FreezerFacet, ImageFacet, OnProgress, Sandbox, SandboxBackend, SandboxStatus } from '../../backend.ts'
import { assertSandboxName, isSandboxName } from '../../sandbox-name.ts'
import { assertPackedSource } from '../../packed-directory.ts'
import { isServerRoot, sandboxUserOnHost } from '../../sandbox-user.ts'
import type { SandboxSpec, SandboxUser } from '../../spec.ts'
import { containerLabels, containerNameOf, SANDBOX_LABEL, SERVER_LABEL } from './container-name.ts'
import { identify } from '../jail/process-identity.ts'
import { hideProcesses, limitTerminals, mountInContainer, tryOwnerMap } from '../launcher.ts'
import { createTcpWatch } from '../tcp-watch.ts'
import { assertMappedRoot, mappedRootPath, mapUsers, mountMappedRoot, unmountMappedRoot } from './mapped-root.ts'
import { rootLayerPath } from '../../root-layer.ts'
import { containerCgroups, type RunningContainer } from './container-cgroups.ts'
import { packedMount, type ContainerWish, type EngineTraits } from './container-plan.ts'
import { containerMounts } from './container-mounts.ts'
import { removeContainer } from './container-removal.ts'
import type { InspectedContainer } from './engine-answers.ts'
import { refusalReason, refusalStatus, type CreateRequest, type EngineClient } from './engine-client.ts'
import { assertCapable, probeOf, type EngineFacts } from './engine-facts.ts'
import { assertImageReference, findImage, imageMissing, pullImage, type FoundImage } from './engine-image.ts'
import { explained, isAbsent } from './engine-refusal.ts'
import { dialGuest, waitForGuest } from './guest-socket.ts'
import { assertMounted, identifyMounts, swappable, type IdentifiedMount } from './mount-sources.ts'
import { sandboxDirectories } from './sandbox-directory.ts'
import { countsTcpApart, limitTcpBuffers } from './tcp-limit.ts'

/** What Docker and Podman each bring: a way to their engine, and what they found out about it. */
export interface Engine {
  readonly kind: 'docker' | 'podman'
  /** Throws `backend_unavailable` with the reason and the fix. */
  client(signal: AbortSignal): Promise<EngineClient>
  /** Asks afresh; throws `backend_unavailable` with the reason and the fix. */
  facts(signal: AbortSignal): Promise<EngineFacts>
  /** The create request in this engine's words. */
  createRequest(name: string, wish: ContainerWish): CreateRequest
  /** The client no longer answers: look for the engine again at the next call. */
  forget(): void
  close(): Promise<void>
}

export interface EngineBackend extends SandboxBackend {
  readonly images: ImageFacet
  /** Ends connections and whatever service was started for them; the sandboxes live on. */
  close(): Promise<void>
}

interface Checked {
  readonly client: EngineClient
  readonly traits: EngineTraits
  readonly reference: string
  readonly image: FoundImage | null
  readonly mounts: readonly IdentifiedMount[]
}

/** Whether a missing image is fetched from its registry at creation, or refused; a function decides by its name. */
export type PullPolicy = 'missing' | 'never' | ((reference: string) => boolean)

/** An engine under load takes seconds; one that takes longer is broken. */
const CALL_TIMEOUT_MS = 120_000
/** The caller of a probe decides how long it waits; this bounds the engine that never answers. */
const PROBE_TIMEOUT_MS = 60_000
const FREEZE_ATTEMPTS = 3
/** The guest is root of its container, which is root of the host where packing can be done. */
const GUEST_GROUP = 0

export function engineBackend(engine: Engine, needs: BackendNeeds, pull: PullPolicy): EngineBackend {
  const { kind } = engine
  const directories = sandboxDirectories(kind, needs)
  const containerName = (name: string): string => containerNameOf(needs.serverId, name)
  const layerOf = (name: string): string => rootLayerPath(needs.stateDir, name)
  const tcpWatch = createTcpWatch(needs)
  const cgroups = new Map<string, readonly string[]>()
  let knownFacts: Promise<EngineFacts> | null = null
  let isTmpfsAlwaysRoots = false

  /** Shared by creations, so no single caller's signal may end it. */
  function sharedFacts(): Promise<EngineFacts> {
    if (knownFacts !== null) return knownFacts
    const facts = engine.facts(AbortSignal.timeout(PROBE_TIMEOUT_MS))
    knownFacts = facts
    facts.catch(() => {
      if (knownFacts === facts) knownFacts = null
    })
    return facts
  }

  /** Becomes what everybody knows only once it is known. */
  async function freshFacts(signal: AbortSignal | undefined): Promise<EngineFacts> {
    const facts = await engine.facts(withDeadline(signal, PROBE_TIMEOUT_MS))
    knownFacts = Promise.resolve(facts)
    return facts
  }

  /** Asks the engine, and once more when it was not there: it may have been started again since, or now is. */
  async function ask<T>(work: (client: EngineClient, signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const deadline = withDeadline(signal, CALL_TIMEOUT_MS)
      const client = await engine.client(deadline)
      try {
        return await work(client, deadline)
      } catch (error) {
        if (!isAbsent(error)) throw error
        engine.forget()
        knownFacts = null
        if (attempt === 2) throw error
      }
    }
  }

  /** Before anything is fetched: a name may lead the engine to any host. */
  function assertPullable(reference: string): void {
    if (pull === 'never') throw imageMissing(kind, reference, 'it is not on the engine, and pulling is switched off')
    if (pull === 'missing' || pull(reference)) return
    throw imageMissing(kind, reference, 'it is not on the engine, and images.allowed does not let callers have it pulled')
  }

  /** What a registry answered may be of a host that only the engine can reach, so a caller does not get it. */
  async function pullForCaller(client: EngineClient, reference: string, onProgress: OnProgress, signal: AbortSignal): Promise<FoundImage> {
    try {
      return await pullImage(client, reference, onProgress, signal)
    } catch (error) {
      if (!isHoldfastError(error, 'image_missing')) throw error
      needs.log?.warn('image-pull-failed', { image: reference, problem: error.message })
      throw imageMissing(kind, reference, 'pulling it failed; the log of the server has the reason')
    }
  }

  /** Everything that can be known before anything is made. An image of `null` may still be pulled. */
  async function checked(spec: SandboxSpec, signal: AbortSignal | undefined): Promise<Checked> {
    const reference = assertImageReference(kind, spec.image)
    const { capabilities } = await sharedFacts()
    signal?.throwIfAborted()
    assertCapable(kind, capabilities, spec)
    await assertPackedSource(spec)
    // Podman would make a directory of the host where a source is missing.
    const mounts = await identifyMounts(spec.mounts)
    const { client, image } = await ask(
      async (reached, deadline) => ({ client: reached, image: await findImage(reached, reference, deadline) }),
      signal,
    )
    if (image === null) assertPullable(reference)
    // Asked for only now: the engine may have been found anew.
    const { traits } = await sharedFacts()
    return { client, traits, reference, image, mounts }
  }

  /** Creates, trying once more when this engine turns out not to know a tmpfs option; only its own answer tells. */
  async function createContainer(
    client: EngineClient,
    name: string,
    spec: SandboxSpec,
    image: FoundImage,
    traits: EngineTraits,
  ): Promise<void> {
    const attempt = (ownsTmpfs: boolean) =>
      client.createContainer(
        engine.createRequest(containerName(name), {
          spec,
          user: commandsOnHost(spec),
          traits: { ...traits, ownsTmpfs },
          imageId: image.id,
          imageVolumes: image.volumes,
          ...(spec.user === 'root' ? { rootPath: mappedRootPath(layerOf(name)) } : {}),
          guestPath: needs.guestPath,
          socketDirectory: directories.path(name),
          hostsPath: directories.hostsPath(name),
          labels: containerLabels(needs.serverId, name),
        }),
        AbortSignal.timeout(CALL_TIMEOUT_MS),
      )
    const isOwning = traits.ownsTmpfs && !isTmpfsAlwaysRoots
    const created = await attempt(isOwning).catch((error: unknown) => {
      if (!isOwning || !/unknown mount option "?[ug]id=/.test(refusalReason(error))) throw error
      isTmpfsAlwaysRoots = true
      return attempt(false)
    })
    // An engine that drops a limit says so only here.
    const dropped = created.Warnings?.find((warning) => /discard/i.test(warning))
    if (dropped !== undefined) throw new HoldfastError('capability_unsupported', `${kind} cannot keep a limit: ${dropped}`)
  }

  async function assertAlive(client: EngineClient, name: string, signal: AbortSignal): Promise<void> {
    const container = await client.inspectContainer(containerName(name), signal)
    if (container?.State.Running === true) return
    const state = container?.State
    const how =
      state === undefined
        ? 'was removed'
        : state.OOMKilled
          ? 'ran out of memory'
          : `ended with exit code ${state.ExitCode} ${state.Error}`.trimEnd()
    throw new HoldfastError('guest_unreachable', `the first process of ${name} ${how} before it could be reached`, { name })
  }

  /**
   * What is done to a started container from the host, with no capability for it, before any command runs. Which process is its
   * first one is the engine's word, so it is checked.
   */
  async function confine(client: EngineClient, name: string, spec: SandboxSpec, mounts: readonly IdentifiedMount[], signal: AbortSignal) {
    const { packed } = spec
    const container = await client.inspectContainer(containerName(name), signal)
    const firstPid = container?.State.Pid ?? 0
    if (spec.user === 'root') {
      await assertMappedRoot(layerOf(name), firstPid)
      await hideProcesses(needs.launcherPath, firstPid, spec.users?.guest ?? GUEST_GROUP, signal)
    } else if (spec.rootfs === 'writable') await directories.showLayer(name, container?.GraphDriver?.Data?.['UpperDir'])
    if (container !== null) await mountFromOutside(client, name, spec, container, signal)
    // Last: the guest serves nobody before.
    if (spec.user === 'root') await mapUsers(needs.launcherPath, firstPid, spec.users, signal)
    await assertMounted(swappable(mounts, needs.stateDir), firstPid)
    if (packed !== undefined) {
      await assertMounted(await identifyMounts([packedMount(packed)]), firstPid)
      await hideProcesses(needs.launcherPath, firstPid, GUEST_GROUP, signal)
    }
    if (await isGuest(firstPid, needs.guestPath)) await limitTerminals(needs.launcherPath, firstPid, signal)
    if (container === null) return
    const { memoryBytes } = spec.limits
    if (memoryBytes !== null && (await countsTcpApart())) await limitTcpBuffers(container, memoryBytes)
    await watch(name, container)
  }

  /** What needs an owner map. The engine reports the same process before and after it is identified, so it is the container's. */
  async function mountFromOutside(
    client: EngineClient,
    name: string,
    spec: SandboxSpec,
    container: InspectedContainer,
    signal: AbortSignal,
  ) {
    const user = spec.users?.commands ?? sandboxUserOnHost().uid
    // Root of a container of its own users owns what the image's root owns.
    const isLayered = spec.rootfs === 'writable' && spec.user !== 'root'
    const image = isLayered ? { directories: await layersOf(container), changes: await directories.makeChanges(name, user) } : null
    const words = containerMounts(spec.mounts, user, image)
    if (words.length === 0) return
    const [first] = identify(container.State.Pid)
    const again = await client.inspectContainer(containerName(name), signal)
    if (first === undefined || again?.State.Pid !== first.pid || !(await isGuest(first.pid, needs.guestPath)))
      throw new HoldfastError('backend_unavailable', `${kind} reports a first process of ${name} that this server does not see`, { name })
    await mountInContainer(needs.launcherPath, first, words, signal)
  }

  async function watch(name: string, container: RunningContainer): Promise<void> {
    const [first] = identify(container.State.Pid)
    const found = await containerCgroups(container)
    cgroups.set(name, found)
    if (first !== undefined) tcpWatch.add(name, first, found)
  }

  async function undo(client: EngineClient, name: string, isContainerOurs: boolean): Promise<void> {
    try {
      if (isContainerOurs) await removeContainer(client, containerName(name))
      await unmountMappedRoot(needs.launcherPath, layerOf(name))
      await directories.remove(name)
    } catch {
      // The engine is gone. What is left bears our label and its directory, so `list` shows it; the first failure is the one to report.
      knownFacts = null
    }
  }

  async function ensureImage(named: string, signal: AbortSignal | undefined, onProgress: OnProgress = () => undefined): Promise<void> {
    const reference = assertImageReference(kind, named)
    const found = await ask(async (client, deadline) => ({ client, image: await findImage(client, reference, deadline) }), signal)
    if (found.image !== null) return
    assertPullable(reference)
    await pullImage(found.client, reference, onProgress, signal ?? NEVER)
  }

  async function mapsOwners(source: string): Promise<boolean> {
    if (!(await sharedFacts()).traits.reachesContainers) return false
    return tryOwnerMap(needs.launcherPath, [source]).then(
      () => true,
      (error: unknown) => {
        if (!isHoldfastError(error)) throw error
        return false
      },
    )
  }

  const sandbox = (name: string): Sandbox => ({ name, kind, dial: (signal) => dialGuest(name, directories.path(name), signal) })

  const thaw = (name: string) => ask((client, deadline) => client.unpauseContainer(containerName(name), deadline), undefined)
  const freezer: FreezerFacet = {
    async freeze(name) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await ask((client, deadline) => client.pauseContainer(containerName(name), deadline), undefined)
        } catch (error) {
          // On cgroup version 1 runc does not always get a busy container to stand still.
          if (attempt === FREEZE_ATTEMPTS) throw error
          await thaw(name)
        }
      }
    },
    thaw,
  }

  return {
    kind,
    images: { ensure: ensureImage },
    freezer,
    ...(isServerRoot() ? { hostUsers: { problem: ownUserProblem, mapsOwners } } : {}),
    probe: (signal) => probeOf(freshFacts(signal)),

    async check(spec, signal) {
      await checked(spec, signal)
    },

    async create(name, spec, signal, onProgress: OnProgress = () => undefined) {
      assertSandboxName(name)
      const { client, traits, reference, image: found, mounts } = await checked(spec, signal)
      const image = found ?? (await pullForCaller(client, reference, onProgress, signal ?? NEVER))
      await directories.make(name)
      let isContainerOurs = true
      try {
        if (spec.user === 'root') await mountMappedRoot(needs.launcherPath, spec.users, image.layers, layerOf(name))
        signal?.throwIfAborted()
        // An engine goes on with what it was asked even when the asker leaves. So creation is never cut off, only undone.
        await createContainer(client, name, spec, image, traits).catch((error: unknown) => {
          if (refusalStatus(error) === 409) isContainerOurs = false
          throw error
        })
        signal?.throwIfAborted()
        await client.startContainer(containerName(name), AbortSignal.timeout(CALL_TIMEOUT_MS))
        await waitForGuest(
          name,
          directories.path(name),
          () => assertAlive(client, name, withDeadline(signal, CALL_TIMEOUT_MS)),
          signal ?? NEVER,
        )
        await confine(client, name, spec, mounts, withDeadline(signal, CALL_TIMEOUT_MS))
        await unmountMappedRoot(needs.launcherPath, layerOf(name))
        await directories.finish(name)
        return sandbox(name)
      } catch (error) {
        await undo(client, name, isContainerOurs)
        if (signal?.aborted === true) throw signal.reason
        throw explained(kind, needs, error)
      }
    },

    async attach(name, signal) {
      assertSandboxName(name)
      const container = await ask((client, deadline) => client.inspectContainer(containerName(name), deadline), signal)
      const isOurs = container?.Config.Labels?.[SERVER_LABEL] === needs.serverId
      if (!isOurs || container.State.Running !== true || (await directories.isHalfMade(name))) throw tcpWatch.goneError(name)
      // A server that was killed may have left it paused.
      if (container.State.Paused === true) await freezer.thaw(name)
      await watch(name, container)
      return sandbox(name)
    },

    async list(signal) {
      // Directories first: a creation that is under way then shows as half made, never as nothing.
      const statuses = new Map((await directories.list()).map((name): [string, SandboxStatus] => [name, { name, running: false }]))
      const containers = await ask((client, deadline) => client.listContainers([`${SERVER_LABEL}=${needs.serverId}`], deadline), signal)
      for (const container of containers) {
        const name = container.Labels?.[SANDBOX_LABEL] ?? ''
        if (isSandboxName(name)) statuses.set(name, { name, running: container.State === 'running' || container.State === 'paused' })
      }
      return [...statuses.values()]
    },

    async destroy(name) {
      assertSandboxName(name)
      tcpWatch.remove(name)
      cgroups.delete(name)
      await ask((client) => removeContainer(client, containerName(name)), undefined)
      await unmountMappedRoot(needs.launcherPath, layerOf(name))
      await directories.remove(name)
    },

    cgroupsOf: async (name) => cgroups.get(name) ?? [],
    overrunOf: (name) => tcpWatch.overrunOf(name),
    close: () => engine.close(),
  }
}

/** A container has the numbers of the host: with `user: root` its guest, not the engine, makes a user namespace. */
function commandsOnHost({ users }: SandboxSpec): SandboxUser {
  return users === undefined ? sandboxUserOnHost() : { uid: users.commands, gid: users.commands }
}

/** Where the layers of its image are, topmost first. */
async function layersOf({ GraphDriver }: InspectedContainer): Promise<readonly string[]> {
  const lower = GraphDriver?.Data?.['LowerDir'] ?? ''
  if (lower === '') throw new HoldfastError('capability_unsupported', 'the engine does not report where the layers of the image are')
  return Promise.all(lower.split(':').map((layer) => realpath(layer)))
}

/** An engine mounts directories of the host with the owners that they have; only those with an owner of their own are mapped. */
async function ownUserProblem({ mounts }: SandboxSpec): Promise<string | null> {
  const shown = mounts.find(({ isOwn, owner }) => isOwn !== true && owner === undefined)
  return shown === undefined ? null : `it shows a directory of the host at ${shown.target}, whose files belong to another user`
}

/** `false` where the engine's processes have other numbers than this server sees, as in a container with the engine's socket. */
async function isGuest(pid: number, guestPath: string): Promise<boolean> {
  const [running, ours] = await Promise.all([
    stat(`/proc/${pid}/exe`, { bigint: true }).catch(() => null),
    stat(guestPath, { bigint: true }),
  ])
  return running !== null && running.dev === ours.dev && running.ino === ours.ino
}

const NEVER = new AbortController().signal

function withDeadline(signal: AbortSignal | undefined, milliseconds: number): AbortSignal {
  const deadline = AbortSignal.timeout(milliseconds)
  return signal === undefined ? deadline : AbortSignal.any([signal, deadline])
}
