/**
 * What a session is to be, as its caller says it.
 */
import type { CreateSessionBodyInput } from '@holdfast/protocol'
import { snake } from './wire-names.ts'

/** The conversation: a key of the caller's, or what the server makes the key from. */
export interface SessionName {
  /** The caller's own name for the conversation. */
  readonly key?: string | undefined
  /** Or a rule: a built-in name such as `chat`, or a template such as `{launcher_type}_{launcher_id}`. */
  readonly scope?: string | undefined
  /** What the rule is filled with. */
  readonly variables?: Readonly<Record<string, string | number>> | undefined
  /** `unknown`: a variable that the rule uses and `variables` leaves out becomes a fixed word instead of an error. */
  readonly missing?: 'refuse' | 'unknown' | undefined
}

/** What shapes a sandbox when it is made; a session that has other values refuses with `session_incompatible`. */
export interface SandboxWish {
  /** A named set of values for what is left out here; `profiles()` lists them. */
  readonly profile?: string | undefined
  /** The configured pipeline that asks, whose scope, profile and skills are taken where none are named; `pipelines()` lists them. */
  readonly pipeline?: string | undefined
  readonly image?: string | undefined
  readonly network?: 'off' | 'on' | undefined
  readonly rootfs?: 'read-only' | 'writable' | undefined
  /** What `/home/user` is: on disk and kept with the session (`persistent`, unless given), or in memory and empty in every new sandbox. */
  readonly home?: 'persistent' | 'ephemeral' | undefined
  /** `root`: commands are root of the sandbox, where the server allows it. */
  readonly user?: 'user' | 'root' | undefined
  readonly workspace?: WorkspaceWish | undefined
  /** Further directories of the host. */
  readonly mounts?: readonly MountWish[] | undefined
  readonly limits?: LimitsWish | undefined
}

/** Without a `source` the workspace is the session's own directory. */
export interface WorkspaceWish {
  /** A directory of the host, below one of the server's allowed roots. */
  readonly source?: string | undefined
  /** `rw` unless given; `none` does not show the source. */
  readonly mode?: 'rw' | 'ro' | 'none' | undefined
  /** Where the source is shown: `/workspace` unless given. */
  readonly target?: string | undefined
}

export interface MountWish {
  readonly source: string
  readonly target: string
  readonly mode: 'rw' | 'ro'
}

export interface LimitsWish {
  readonly cpus?: number | null | undefined
  readonly memoryBytes?: number | null | undefined
  readonly pids?: number | null | undefined
  readonly tmpBytes?: number | undefined
  readonly openFiles?: number | undefined
  /** Of all files in the workspace and the home; `null` for no bound. */
  readonly workspaceBytes?: number | null | undefined
}

export interface SessionTimes {
  /** What happens to one that had no work for `idleSeconds`: its sandbox is given up and its workspace kept, or it ends. */
  readonly onIdle?: 'suspend' | 'release' | undefined
  readonly idleSeconds?: number | undefined
  /** Ends unless it is refreshed; `null` for no lease. */
  readonly leaseSeconds?: number | null | undefined
  readonly lifetimeSeconds?: number | null | undefined
  /** How long a suspended one is kept. */
  readonly retentionSeconds?: number | undefined
}

export interface SessionWish extends SessionName, SandboxWish {
  readonly owner?: string | undefined
  readonly ownerGroup?: string | null | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly times?: SessionTimes | undefined
  /** A packing profile: the sandbox may be shared with sessions of the same kind and owner. */
  readonly pack?: string | undefined
  /** What becomes of the workspace when the session ends. */
  readonly workspaceOnClose?: 'delete' | 'keep' | undefined
  /** For how long the answer may wait until the session is ready. */
  readonly waitMs?: number | undefined
}

export function sessionBody(wish: SessionWish): CreateSessionBodyInput {
  const { key, scope, owner, ownerGroup, labels, metadata, times, pack, workspaceOnClose, waitMs, variables, missing } = wish
  return {
    ...snake({ key, scope, owner, ownerGroup, labels, metadata, pack, workspaceOnClose, waitMs, variables, missing }),
    ...sandboxFields(wish),
    ...(times === undefined ? {} : { times: snake(times) }),
  }
}

export function sandboxFields({ profile, pipeline, image, network, rootfs, home, user, workspace, mounts, limits }: SandboxWish) {
  return {
    ...snake({ profile, pipeline, image, network, rootfs, home, user, workspace }),
    ...(mounts === undefined ? {} : { mounts: [...mounts] }),
    ...(limits === undefined ? {} : { limits: snake(limits) }),
  }
}
