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
}

/** What shapes a sandbox when it is made; a session that has other values refuses with `session_incompatible`. */
export interface SandboxWish {
  readonly image?: string | undefined
  readonly network?: 'off' | 'on' | undefined
  readonly limits?: LimitsWish | undefined
}

export interface LimitsWish {
  readonly cpus?: number | null | undefined
  readonly memoryBytes?: number | null | undefined
  readonly pids?: number | null | undefined
  readonly tmpBytes?: number | undefined
  readonly openFiles?: number | undefined
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
  const { key, scope, owner, ownerGroup, labels, metadata, times, pack, workspaceOnClose, waitMs, variables } = wish
  return {
    ...snake({ key, scope, owner, ownerGroup, labels, metadata, pack, workspaceOnClose, waitMs, variables }),
    ...sandboxFields(wish),
    ...(times === undefined ? {} : { times: snake(times) }),
  }
}

export function sandboxFields({ image, network, limits }: SandboxWish) {
  return { ...snake({ image, network }), ...(limits === undefined ? {} : { limits: snake(limits) }) }
}
