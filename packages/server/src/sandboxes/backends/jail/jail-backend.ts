/**
 * A backend over a jail program of the host: bubblewrap and nsjail are this, with their own probe and flags.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * State directory first, then one run of the launcher; from then on the sandbox lives without the server. Everything
 * is found again by name from its state directory.
 */
import { join } from 'node:path'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { BackendKind, BackendNeeds, Probe, Sandbox, SandboxBackend } from '../../backend.ts'
import { assertPackedSource } from '../../packed-directory.ts'
import type { SandboxSpec } from '../../spec.ts'
import { isServerRoot } from '../../sandbox-user.ts'
import { rootLayerPath } from '../../root-layer.ts'
import { findSubordinateIds } from '../../subordinate-ids.ts'
import { connectGuest } from '../guest-connection.ts'
import { tryOwnerMap } from '../launcher.ts'
import { createTcpWatch } from '../tcp-watch.ts'
import { sandboxCgroups } from './cgroup-limits.ts'
import { freezeCgroups, thawCgroups } from './cgroup-freezer.ts'
import { createCgroupParents } from './cgroup-parents.ts'
import { removeCgroups } from './cgroup-removal.ts'
import { destroySandbox } from './destruction.ts'
import { createEtcDirectory, type EtcDirectory } from './etc-directory.ts'
import { filesystemView, type ViewEntry } from './filesystem-view.ts'
import { isTunOpenToAll, OPEN_TUN } from './jail-host.ts'
import { hostUsers } from './jail-user.ts'
import { makeRootLayer } from './writable-root.ts'
import type { JailHost } from './jail-host.ts'
import { launch, type LaunchPlan } from './launch.ts'
import { refusePlantedLinks } from './nested-mounts.ts'
import { openFilesCeiling, openFilesObstacle } from './open-files-ceiling.ts'
import { isAlive } from './process-identity.ts'
import { checkSpec } from './spec-check.ts'
import { createStateDirectory, listNames, readState, sandboxPaths, sweepUnfinished, type SandboxState } from './state-directory.ts'
import { strayCgroups } from './stray-cgroups.ts'

/** Outside the sandbox's pid namespace but counted in its cgroup: the jail's monitor, and the network helper with its own child. */
const MONITOR_PROCESSES = 1
const NETWORK_PROCESSES = 2

/** For a check before it is known who the sandbox is. */
const ANY_USERS = { commands: 1, guest: 2, system: 3 }

export type JailProbe = { readonly probe: Probe; readonly jail: UsableJail | null }

/** A jail program that was tried and works here. */
export interface UsableJail {
  readonly host: JailHost
  /** The launcher's flags and the program's own arguments for a view. Throws `capability_unsupported`. */
  render(view: readonly ViewEntry[], shape: JailShape): Pick<LaunchPlan, 'stagingFlags' | 'jailFlags' | 'argv'>
}

/** What of a spec the program is told beside the view. */
export type JailShape = Pick<SandboxSpec, 'network' | 'mounts' | 'packed' | 'users' | 'user' | 'refusesReserving'>

export function jailBackend(
  kind: BackendKind,
  needs: BackendNeeds,
  probeJail: (signal?: AbortSignal) => Promise<JailProbe>,
  { takesSubordinateIds = false } = {},
): SandboxBackend {
  const isRoot = isServerRoot()
  const parents = createCgroupParents()
  const mostOpenFiles = openFilesCeiling()
  const strays = strayCgroups(needs.serverId)
  const tcpWatch = createTcpWatch(needs)
  const etcDirectories = new Map<string, Promise<EtcDirectory>>()
  const beingMade = new Map<string, Promise<void>>()
  let usable: { readonly jail: UsableJail; readonly probe: Extract<Probe, { available: true }> } | null = null
  let swept: Promise<void> | null = null
  let subordinate: ReturnType<typeof findSubordinateIds> | null = null

  async function probe(signal?: AbortSignal): Promise<Probe> {
    const obstacle = openFilesObstacle()
    if (obstacle !== null) return { available: false, ...obstacle }
    const result = await probeJail(signal)
    usable = result.jail !== null && result.probe.available ? { jail: result.jail, probe: result.probe } : null
    return result.probe
  }

  async function needUsable(signal?: AbortSignal) {
    if (usable !== null) return usable
    const result = await probe(signal)
    if (usable !== null) return usable
    const reason = result.available ? 'it could not be tried' : `${result.reason}; ${result.fix}`
    throw new HoldfastError('backend_unavailable', `${kind} is not available: ${reason}`, { kind })
  }

  function etcFor({ network, user }: SandboxSpec): Promise<EtcDirectory> {
    const key = `${network} ${user ?? 'user'}`
    const known = etcDirectories.get(key)
    if (known !== undefined) return known
    const making = createEtcDirectory(needs.stateDir, network, user)
    etcDirectories.set(key, making)
    making.catch(() => etcDirectories.delete(key))
    return making
  }

  /** `null` for a name that is free or belongs to another backend or server. */
  async function ownState(name: string): Promise<SandboxState | null> {
    const state = await readState(needs.stateDir, name)
    return state !== null && state.record.kind === kind && state.record.serverId === needs.serverId ? state : null
  }

  function watch(name: string, state: SandboxState | null): void {
    const first = state?.processes.find(({ role }) => role === 'init')
    if (first !== undefined) tcpWatch.add(name, first, state?.record.cgroups ?? [])
  }

  async function destroy(name: string): Promise<void> {
    tcpWatch.remove(name)
    const state = await ownState(name)
    if (state === null) {
      if ((await readState(needs.stateDir, name)) !== null) return
      await removeCgroups(strays.directoriesOf(name))
    }
    await destroySandbox(needs.stateDir, name, state)
    parents.release(state?.record.cgroups ?? [])
  }

  /** What the launcher needs to be root over the users of the spec; nothing where it is root, or the spec has none. */
  async function subordinateArguments({ users }: SandboxSpec): Promise<readonly string[]> {
    if (isRoot || users === undefined) return []
    const found = await (subordinate ??= findSubordinateIds(needs))
    if ('problem' in found)
      throw new HoldfastError('capability_unsupported', `${kind} has no users to give: ${found.problem}; ${found.fix}`, { kind })
    return found.argumentsFor('enter')
  }

  async function start(name: string, spec: SandboxSpec, signal?: AbortSignal): Promise<void> {
    const { jail, probe: found } = await needUsable(signal)
    checkSpec(kind, spec, found.capabilities, mostOpenFiles)
    await assertPackedSource(spec)
    const helpers = MONITOR_PROCESSES + (spec.network === 'on' ? NETWORK_PROCESSES : 0)
    const cgroups = sandboxCgroups(jail.host.cgroups, name, spec.limits, helpers, spec.refusesReserving)
    const layer = rootLayerPath(needs.stateDir, name)
    const view = filesystemView(spec, await etcFor(spec), needs.guestPath, cgroups, layer)
    const rendered = jail.render(view, spec)
    const networkProgram = spec.network === 'on' && 'program' in jail.host.network ? jail.host.network.program : null
    const ownRights = await subordinateArguments(spec)
    // With users the launcher stages the mounts, and looks for itself; the server may not even look into them.
    if (spec.users === undefined) await refusePlantedLinks(spec.mounts)
    await (swept ??= sweepUnfinished(needs.stateDir, Date.now()))
    const directories = cgroups.map(({ directory }) => directory)
    await createStateDirectory(needs.stateDir, name, { version: 1, kind, serverId: needs.serverId, cgroups: directories })
    const stateDirectory = sandboxPaths(needs.stateDir, name).directory
    try {
      if (spec.rootfs === 'writable') await makeRootLayer(layer, view, hostUsers(spec).commands)
      await parents.whileHeld(jail.host.cgroups, directories, () =>
        launch(
          {
            ...{ launcherPath: needs.launcherPath, stateDirectory, cgroups, networkProgram },
            openFiles: spec.limits.openFiles,
            subordinate: ownRights,
            ...rendered,
          },
          signal,
        ),
      )
    } catch (error) {
      await destroy(name)
      throw error
    }
  }

  /** A file system that takes no owner map cannot show its files as those of another user. */
  async function ownUserProblem(spec: SandboxSpec, signal?: AbortSignal): Promise<string | null> {
    if (!isRoot && spec.network === 'on' && !isTunOpenToAll()) return `/dev/net/tun is not open to every user; run \`${OPEN_TUN}\``
    const sources = spec.mounts.filter(({ isOwn }) => isOwn !== true).map(({ source }) => source)
    if (sources.length === 0) return null
    if (!isRoot) return 'only root can give another owner to a directory of the host that it shows'
    try {
      await tryOwnerMap(needs.launcherPath, sources, signal)
      return null
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      return `a directory of the host that it shows cannot be given another owner: ${error.message}`
    }
  }

  async function mapsOwners(source: string): Promise<boolean> {
    try {
      await tryOwnerMap(needs.launcherPath, [source])
      return true
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      return false
    }
  }

  return {
    kind,
    ...(isRoot || takesSubordinateIds ? { hostUsers: { problem: ownUserProblem, ...(isRoot ? { mapsOwners } : {}) } } : {}),
    probe,
    async check(spec, signal) {
      const { jail, probe: found } = await needUsable(signal)
      checkSpec(kind, spec, found.capabilities, mostOpenFiles)
      await assertPackedSource(spec)
      // Some wishes only fail when they are spelled for the program; which /etc is shown makes no difference to that.
      const users = spec.user === 'root' ? { users: { ...ANY_USERS, ...spec.users } } : {}
      jail.render(filesystemView(spec, { directory: '/etc', binds: [] }, needs.guestPath, [], '/layer'), { ...spec, ...users })
    },
    async create(name, spec, signal) {
      const starting = start(name, spec, signal)
      beingMade.set(name, starting)
      try {
        await starting
      } finally {
        if (beingMade.get(name) === starting) beingMade.delete(name)
      }
      // Not awaited: nothing is over its limit after a few milliseconds. What is destroyed meanwhile needs no watch.
      ownState(name)
        .then((state) => watch(name, state))
        .catch(() => undefined)
      return sandboxOf(kind, needs.stateDir, name)
    },
    async attach(name) {
      const state = await ownState(name)
      if (state === null || !isRunning(state)) throw tcpWatch.goneError(name)
      watch(name, state)
      // A server that was killed may have left it frozen.
      await thawCgroups(state.record.cgroups)
      return sandboxOf(kind, needs.stateDir, name)
    },
    freezer: {
      freeze: async (name) => freezeCgroups((await ownState(name))?.record.cgroups ?? []),
      thaw: async (name) => thawCgroups((await ownState(name))?.record.cgroups ?? []),
    },
    async list() {
      const names = await listNames(needs.stateDir)
      const states = await Promise.all(names.map(async (name) => ({ name, state: await ownState(name) })))
      const known = new Set(names)
      const stray = [...(await strays.names())].filter((name) => !known.has(name)).map((name) => ({ name, running: false }))
      return [...states.flatMap(({ name, state }) => (state === null ? [] : [{ name, running: isRunning(state) }])), ...stray]
    },
    async destroy(name) {
      // Until the launcher has ended, more of the sandbox may still appear.
      await beingMade.get(name)?.catch(() => undefined)
      await destroy(name)
    },
    cgroupsOf: async (name) => (await ownState(name))?.record.cgroups ?? [],
    overrunOf: (name) => tcpWatch.overrunOf(name),
  }
}

function isRunning({ processes }: SandboxState): boolean {
  return processes.some((process) => process.role === 'init' && isAlive(process))
}

function sandboxOf(kind: BackendKind, stateDir: string, name: string): Sandbox {
  const socketPath = join(sandboxPaths(stateDir, name).runDirectory, 'guest.sock')
  return {
    name,
    kind,
    async dial(signal) {
      try {
        return await connectGuest(socketPath, signal)
      } catch (error) {
        if (signal?.aborted) throw error
        throw new HoldfastError('guest_unreachable', `the guest of ${name} does not answer`, { name }, { cause: error })
      }
    },
  }
}
