/**
 * Profiles: named sets of values for what a caller leaves out, and of bounds for what it does not.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * A caller's own value wins over the profile's, except where the profile locks the field: then another value is refused, never
 * replaced in silence. An image is the caller's, else the operator's setting `image`, else the profile's.
 */
import { DEFAULT_TIMEOUT_MS, HoldfastError } from '@holdfast/protocol'
import type { HomeKind, LockableField, RootKind, SandboxUserKind, SandboxWish, WorkspaceMode } from '@holdfast/protocol'
import type { CompleteWish } from '../store/tables/sessions.ts'
import { checkLocks } from './profile-locks.ts'

export interface Profile {
  readonly name: string
  /** `null`: the server's. */
  readonly image: string | null
  readonly network: 'off' | 'on'
  readonly rootfs: RootKind
  readonly home: HomeKind
  readonly user: SandboxUserKind
  readonly workspaceMode: WorkspaceMode
  readonly cpus: number | null
  readonly memoryBytes: number | null
  readonly pids: number | null
  /** `null`: the server's. */
  readonly workspaceBytes: number | null
  /** Of a command that names none. */
  readonly timeoutMs: number
  /** No command gets more. */
  readonly maxTimeoutMs: number
  readonly locked: readonly LockableField[]
}

export interface Profiles {
  /** Taken where a request names none; `null`: then the server's own settings are all there is. */
  readonly usual: string | null
  /** Throws `profile_unknown`. */
  get(name: string): Profile
  /** The built-in ones first, in the order in which they are offered. */
  all(): readonly Profile[]
  isBuiltIn(name: string): boolean
  /** Fills what is absent. Throws `profile_unknown`, and `profile_locked` naming the fields. */
  apply(name: string | undefined, wish: SandboxWish): SandboxWish
  /** The same for a profile at hand; `null`: none. */
  applyTo(profile: Profile | null, wish: SandboxWish): SandboxWish
  /** What the profile gives to the commands of a session. */
  timesOf(name: string | undefined): Pick<CompleteWish, 'timeout_ms' | 'max_timeout_ms'>
  clampTimeout(name: string | undefined, ms: number): number
}

export interface ProfileSettings {
  /** The setting `profile`. */
  readonly usual: string | null
  /** The setting `image`, where a person set it. */
  readonly image: string | null
  /** One with the name of a built-in one takes its place. */
  readonly custom: readonly Profile[]
}

const MEBIBYTE = 1024 * 1024

export const DEFAULT: Profile = {
  name: 'default',
  image: null,
  network: 'off',
  rootfs: 'read-only',
  home: 'persistent',
  user: 'user',
  workspaceMode: 'rw',
  cpus: 1,
  memoryBytes: 512 * MEBIBYTE,
  pids: 128,
  workspaceBytes: null,
  timeoutMs: DEFAULT_TIMEOUT_MS,
  maxTimeoutMs: 120_000,
  locked: [],
}

export const BUILT_IN_PROFILES: readonly Profile[] = [
  DEFAULT,
  {
    ...DEFAULT,
    name: 'offline_readonly',
    workspaceMode: 'ro',
    home: 'ephemeral',
    ...{ cpus: 0.5, memoryBytes: 256 * MEBIBYTE, pids: 64, maxTimeoutMs: 60_000 },
    locked: ['network', 'workspace.mode', 'rootfs', 'home'],
  },
  { ...DEFAULT, name: 'network_basic', network: 'on' },
  {
    ...DEFAULT,
    name: 'network_extended',
    network: 'on',
    rootfs: 'writable',
    ...{ cpus: 2, memoryBytes: 1024 * MEBIBYTE, pids: 256, maxTimeoutMs: 300_000 },
  },
]

/** Throws `config_invalid` when the usual one is not there. */
export function createProfiles({ usual, image, custom }: ProfileSettings): Profiles {
  const known = new Map([...BUILT_IN_PROFILES, ...custom].map((profile) => [profile.name, profile]))
  const names = [...known.keys()].join(', ')
  if (usual !== null && !known.has(usual))
    throw new HoldfastError('config_invalid', `profile: there is no profile '${usual}'; there are ${names}`, { key: 'profile' })

  function get(name: string): Profile {
    const profile = known.get(name)
    if (profile !== undefined) return profile
    throw new HoldfastError('profile_unknown', `profile: there is no profile '${name}'; there are ${names}`, { profile: name })
  }

  function applyTo(profile: Profile | null, wish: SandboxWish): SandboxWish {
    if (profile === null) return wish
    const effective = { ...profile, image: image ?? profile.image }
    checkLocks(profile, wish, fill(effective, {}))
    return fill(effective, wish)
  }

  return {
    usual,
    get,
    applyTo,
    all: () => [...known.values()],
    isBuiltIn: (name) => !custom.some((profile) => profile.name === name) && known.has(name),
    apply(name, wish) {
      const chosen = name ?? usual
      return applyTo(chosen === null ? null : get(chosen), wish)
    },
    timesOf: (name) => (name === undefined ? {} : timesOf(get(name))),
    clampTimeout: (name, ms) => (name === undefined ? ms : Math.min(ms, get(name).maxTimeoutMs)),
  }
}

export function timesOf({ timeoutMs, maxTimeoutMs }: Profile): Pick<CompleteWish, 'timeout_ms' | 'max_timeout_ms'> {
  return { timeout_ms: Math.min(timeoutMs, maxTimeoutMs), max_timeout_ms: maxTimeoutMs }
}

function fill(profile: Profile, wish: SandboxWish): SandboxWish {
  const image = wish.image ?? profile.image ?? undefined
  const { cpus, memoryBytes, pids, workspaceBytes } = profile
  return {
    ...wish,
    profile: profile.name,
    ...(image === undefined ? {} : { image }),
    network: wish.network ?? profile.network,
    rootfs: rootOf(profile, wish),
    home: wish.home ?? profile.home,
    user: wish.user ?? profile.user,
    workspace: { ...wish.workspace, mode: wish.workspace?.mode ?? profile.workspaceMode },
    limits: {
      ...{ cpus, memory_bytes: memoryBytes, pids },
      ...(workspaceBytes === null ? {} : { workspace_bytes: workspaceBytes }),
      ...named(wish.limits ?? {}),
    },
  }
}

/** Root of a sandbox has something to write to, unless the profile keeps the root as it is. */
function rootOf(profile: Profile, { rootfs, user = profile.user }: SandboxWish): RootKind {
  if (rootfs !== undefined) return rootfs
  return user === 'root' && !profile.locked.includes('rootfs') ? 'writable' : profile.rootfs
}

/** A field that is there without a value is one that was left out. */
function named<T extends object>(fields: T): Partial<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only fields are left out
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}
