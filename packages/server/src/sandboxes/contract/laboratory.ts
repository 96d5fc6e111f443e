/**
 * A place to try one backend in: its own server id and state directory, gone without a trace when it closes.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectInside } from '../../guest/guest-inside.ts'
import type { Inside } from '../../guest/inside.ts'
import type { BackendNeeds, Capabilities, Sandbox, SandboxBackend } from '../backend.ts'
import { DEFAULT_UID_RANGE, hostUsersOf, systemUsersOf } from '../host-users.ts'
import type { UidRange } from '../host-users.ts'
import { isServerRoot, sandboxUserOnHost } from '../sandbox-user.ts'
import { findSubordinateIds } from '../subordinate-ids.ts'
import type { HostUsers, Limits, Mount, PackedUsers, SandboxSpec } from '../spec.ts'
import { containersOf } from './engine-facts.ts'
import type { Subject } from './subject.ts'
import { cgroupsNamed, existing, mountsOf, processesOf, socketsOf } from './traces.ts'

const BUILT = fileURLToPath(new URL('../../../../../guest/build/', import.meta.url))
const MEBIBYTE = 1024 * 1024

export interface Wish {
  readonly image?: string | null
  readonly network?: SandboxSpec['network']
  readonly rootfs?: SandboxSpec['rootfs']
  readonly user?: 'root'
  readonly mounts?: readonly Mount[]
  readonly limits?: Partial<Limits>
  readonly packed?: PackedUsers
  readonly refusesReserving?: true
  readonly users?: HostUsers
}

/** A sandbox with an open connection into it. */
export interface Inhabited {
  readonly name: string
  readonly sandbox: Sandbox
  readonly inside: Inside
}

export interface Laboratory {
  readonly subject: Subject
  readonly directory: string
  readonly needs: BackendNeeds
  readonly backend: SandboxBackend
  readonly capabilities: Capabilities
  spec(wish?: Wish): SandboxSpec
  newName(): string
  /** Host users that no other sandbox has; `undefined` where the backend cannot give any. */
  newUsers(): HostUsers | undefined
  /** The same for a sandbox with `user: root`. */
  newRootUsers(): HostUsers
  /** A backend object with the same needs: this server after a restart. */
  reopen(): SandboxBackend
  /** Another server on the same engine and machine. */
  stranger(): SandboxBackend
  /** A host directory that the sandbox's user owns. */
  hostDirectory(name: string): string
  create(wish?: Wish, name?: string): Promise<Inhabited>
  enter(sandbox: Sandbox): Promise<Inside>
  /** What is on the host because of this laboratory, as one list for a readable comparison. */
  traces(): Promise<readonly string[]>
  /** Destroys every sandbox, then says what is still there. */
  close(): Promise<readonly string[]>
}

function randomText(length: number): string {
  const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'
  return Array.from(crypto.getRandomValues(new Uint8Array(length)), (value) => alphabet[value % alphabet.length]).join('')
}

/**
 * `below`: further directories between the laboratory and the state directory, for long paths. `always`: what every sandbox that is not
 * packed is made with.
 */
export async function openLaboratory(subject: Subject, below = '', always: Wish = {}): Promise<Laboratory> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-lab-')))
  const marker = basename(directory)
  const opened: SandboxBackend[] = []
  const insides: Inside[] = []
  const cgroupsSeen = new Set<string>()

  // A copy of its own makes every process of the laboratory recognisable by its mounts.
  copyFileSync(join(BUILT, 'holdfast-guest'), join(directory, 'guest'))
  const needs = needsOf('state', `lab${randomText(12)}`)
  const backend = open(needs)
  const capabilities = await capabilitiesOf(backend)
  const spec = (wish: Wish = {}): SandboxSpec => specOf(subject, capabilities, wish.packed === undefined ? { ...always, ...wish } : wish)

  function needsOf(stateName: string, serverId: string): BackendNeeds {
    const stateDir = join(directory, below, stateName)
    mkdirSync(stateDir, { recursive: true, mode: 0o700 })
    return { serverId, stateDir, guestPath: join(directory, 'guest'), launcherPath: join(BUILT, 'holdfast-launcher') }
  }

  function open(with_: BackendNeeds): SandboxBackend {
    const made = subject.open(with_)
    opened.push(made)
    return made
  }

  async function enter(sandbox: Sandbox): Promise<Inside> {
    const inside = await connectInside(await sandbox.dial())
    insides.push(inside)
    // By the guest alone: the root of a container that is about to start is mounted on the host, where every process has it.
    for (const { cgroups } of processesOf(join(marker, 'guest'))) for (const cgroup of cgroups) cgroupsSeen.add(cgroup)
    return inside
  }

  async function traces(): Promise<readonly string[]> {
    const containers = subject.engineSocket === null ? [] : await containersOf(subject.engineSocket, marker)
    return [
      ...entriesOf(join(needs.stateDir, 'sandboxes')).map((name) => `directory ${name}`),
      ...containers.map((id) => `container ${id}`),
      ...processesOf(marker).map(({ pid, command }) => `process ${pid} ${command}`),
      ...mountsOf(marker).map((line) => `mount ${line}`),
      ...socketsOf(marker).map((line) => `socket ${line}`),
      ...[...new Set([...existing(cgroupsSeen), ...cgroupsNamed(needs.serverId)])].map((path) => `cgroup ${path}`),
    ]
  }

  const range = await usersToGive(needs)
  const newUsers = () => {
    if (always.user === 'root') return newRootUsers()
    return backend.hostUsers === undefined || range === null ? undefined : hostUsersOf(range, randomText(16))
  }

  /** As a server does it: users of its own unless a mount forbids it. An engine's proofs mount files of the host, so they ask for users. */
  async function withUsers(made: SandboxSpec): Promise<SandboxSpec> {
    if (made.user === 'root') return withRootUsers(made)
    const users = newUsers()
    if (made.users !== undefined || users === undefined || (await backend.hostUsers?.problem(made)) !== null) return made
    return { ...made, users }
  }

  const newRootUsers = (): HostUsers => {
    const id = randomText(16)
    const users = hostUsersOf(DEFAULT_UID_RANGE, id)
    const system = systemUsersOf(DEFAULT_UID_RANGE, id, [users.commands, users.guest])
    if (system === null) throw new Error('the default range has no room for system users')
    return { ...users, system }
  }

  /** Directories that it writes are its own, as a session's are; shared ones keep their owner. */
  function withRootUsers(made: SandboxSpec): SandboxSpec {
    const users = made.users ?? newRootUsers()
    const mounts = made.mounts.map((mount) => (mount.owner === undefined ? { ...mount, isOwn: true as const } : mount))
    for (const { source, mode, isOwn } of mounts) if (isOwn === true && mode === 'rw') chownSync(source, users.commands, users.commands)
    return { ...made, users, mounts }
  }

  return {
    subject,
    directory,
    needs,
    backend,
    capabilities,
    spec,
    newUsers,
    newRootUsers,
    newName: () => `sbx_${randomText(16)}`,
    reopen: () => open(needs),
    stranger: () => open(needsOf(`stranger-${randomText(6)}`, `lab${randomText(12)}`)),
    hostDirectory(name) {
      const path = join(directory, name)
      mkdirSync(path, { recursive: true, mode: 0o755 })
      const { uid, gid } = sandboxUserOnHost()
      chownSync(path, uid, gid)
      return path
    },
    async create(wish = {}, name = `sbx_${randomText(16)}`) {
      const sandbox = await backend.create(name, await withUsers(spec(wish)))
      return { name, sandbox, inside: await enter(sandbox) }
    },
    enter,
    traces,
    async close() {
      for (const inside of insides) inside.close()
      for (const each of opened) for (const { name } of await each.list()) await each.destroy(name)
      const left = await traces()
      for (const each of opened) if ('close' in each && typeof each.close === 'function') await each.close()
      rmSync(directory, { recursive: true, force: true })
      return left
    },
  }
}

/** Names with a dot are a backend's own scratch, in which nothing ever ran; it clears them at its next creation. */
function entriesOf(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory).filter((name) => !name.startsWith('.')) : []
}

async function capabilitiesOf(backend: SandboxBackend): Promise<Capabilities> {
  const probe = await backend.probe()
  if (!probe.available) throw new Error(probe.reason)
  return probe.capabilities
}

/** A limit that this machine cannot keep is not wished unless a proof asks for it, so that the rest can be proved there. */
function specOf(subject: Subject, { limits }: Capabilities, wish: Wish): SandboxSpec {
  return {
    image: subject.image,
    network: 'off',
    rootfs: 'read-only',
    mounts: [],
    ...wish,
    limits: {
      cpus: limits.cpus ? 1 : null,
      memoryBytes: limits.memory ? 128 * MEBIBYTE : null,
      pids: limits.pids ? 64 : null,
      tmpBytes: 16 * MEBIBYTE,
      openFiles: 256,
      ...wish.limits,
    },
  }
}

/** `null`: this account has none. */
async function usersToGive(needs: BackendNeeds): Promise<UidRange | null> {
  if (isServerRoot()) return DEFAULT_UID_RANGE
  const found = await findSubordinateIds(needs)
  return 'problem' in found ? null : found.range
}
