/**
 * A session as the server describes it.
 */
import type { SessionRecord as WireSession, SessionView as WireView } from '@holdfast/protocol'
import { camel } from './wire-names.ts'

export type SessionState = 'pending' | 'idle' | 'active' | 'suspended' | 'closing' | 'released' | 'cancelled' | 'expired' | 'failed'
/** What of the workspace is found: as it was, from a copy, or a fresh one in place of what is gone. */
export type WorkspaceVerdict = 'intact' | 'restored' | 'lost'

export interface SandboxLimits {
  readonly cpus: number | null
  readonly memoryBytes: number | null
  readonly pids: number | null
  readonly tmpBytes: number | null
  readonly openFiles: number | null
  /** Of all files in the workspace; `null` for no bound. */
  readonly workspaceBytes: number | null
}

export interface SessionRecord {
  readonly id: string
  readonly key: string
  /** The rule that made the key; `null` for a key that the caller named. */
  readonly scope: string | null
  readonly owner: string
  readonly ownerGroup: string | null
  readonly state: SessionState
  readonly pendingReason: 'create' | 'resume' | 'rebind' | null
  readonly suspendReason: 'idle' | 'caller' | 'sandbox_lost' | 'server_stopped' | 'capacity' | 'home_reset' | 'tcp_limit' | null
  readonly closeReason: 'release' | 'cancel' | 'expire' | 'fail' | null
  /** What led to its end: a deadline's name, `caller`, or an error code. */
  readonly closeDetail: string | null
  readonly failure: { readonly code: string; readonly message: string } | null
  /** Grows by one whenever the sandbox behind the session is another one. */
  readonly incarnation: number
  readonly workspace: WorkspaceVerdict
  /** After a change: what survived and what did not, for the model. */
  readonly notice: string | null
  readonly labels: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  /** The named set of values that it was made with. */
  readonly profile: string | null
  /** Of a stored profile, when the session was made; later changes do not apply. */
  readonly profileVersion: number | null
  /** The pipeline that it was made for. */
  readonly pipeline: string | null
  /** Of its pipeline, when the session was made; `null`: all of the tenant. */
  readonly skills: readonly string[] | null
  /** Of a command that names none, from its profile. */
  readonly timeoutMs: number | null
  /** The longest that a command may have, from its profile. */
  readonly maxTimeoutMs: number | null
  readonly image: string | null
  readonly network: 'off' | 'on' | null
  readonly rootfs: 'read-only' | 'writable'
  readonly home: 'persistent' | 'ephemeral'
  /** Who its commands are. */
  readonly user: 'user' | 'root'
  /** What of the host its workspace is; `source` is `null` for the session's own directory. */
  readonly workspaceMount: { readonly source: string | null; readonly mode: 'rw' | 'ro' | 'none'; readonly target: string }
  readonly mounts: readonly { readonly source: string; readonly target: string; readonly mode: 'rw' | 'ro' }[]
  readonly limits: SandboxLimits
  readonly pack: string | null
  readonly sandboxId: string | null
  /** Executions and named processes that run now. */
  readonly running: number
  /** No work and no resume until an operator lets it go. */
  /** An administrator asks to give it to somebody else; its owner accepts or rejects. */
  readonly pendingTransfer: {
    readonly owner: string
    readonly ownerGroup: string | null
    readonly by: string
    readonly at: string
  } | null
  readonly held: { readonly at: string; readonly by: string | null; readonly reason: string | null } | null
  readonly onIdle: 'suspend' | 'release'
  readonly workspaceOnClose: 'delete' | 'keep'
  /** When it ends if nothing happens; `null` for never, or for one that has ended. */
  readonly expiresAt: string | null
  readonly expiresReason: 'idle' | 'lease' | 'lifetime' | 'retention' | null
  readonly deadlines: { readonly idleAt: string | null; readonly leaseAt: string | null; readonly lifetimeAt: string | null }
  readonly createdAt: string
  readonly createdBy: string
  readonly activityAt: string
  readonly suspendedAt: string | null
  readonly closedAt: string | null
  /** What was cleaned up when it closed; `verified` is false when something could not be proved gone. */
  readonly cleanup: {
    readonly executions: number
    readonly killed: number
    readonly verified: boolean
    readonly sandbox: 'none' | 'destroyed' | 'kept' | 'quarantined'
    readonly workspace: 'deleted' | 'kept'
  } | null
  /** In the answer to a transfer with `keepRunning`: executions that received a credential of the earlier owner and run on. */
  readonly keptRunning?: readonly string[] | undefined
  /** The number of its last event. */
  readonly eventSeq: number
  /** Grows with every change. */
  readonly version: number
}

/** What the answer to a command says about its session. */
export interface SessionView {
  readonly id: string
  readonly key: string
  readonly incarnation: number
  readonly workspace: WorkspaceVerdict
  /** On the first result after a change: what survived and what did not, for the model. */
  readonly notice: string | null
}

export function sessionRecord(wire: WireSession): SessionRecord {
  // An older server has no such field.
  const { pending_transfer: pending = null } = wire as Partial<WireSession>
  const pendingTransfer = pending === null ? null : camel(pending)
  return { ...camel(wire), pendingTransfer, limits: camel(wire.limits), deadlines: camel(wire.deadlines) }
}

export function sessionView(wire: WireView): SessionView {
  return { ...wire, notice: wire.notice ?? null }
}
