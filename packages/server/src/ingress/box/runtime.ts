/**
 * The port between the Box wire and what it drives: sessions, processes and skills of one tenant, named as the wire names them.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The wire gives session ids as the caller wrote them (trimmed, and with something left after `sanitizedSessionId`) and takes back the
 * sanitized ones. Failures are `BoxError`s, or any other `HoldfastError`, which `failure.ts` puts into a class. A signal that fires means
 * that nobody waits any more: what was started for the call ends.
 */
import type {
  BoxBackendInfo,
  BoxExecutionResult,
  BoxManagedProcessInfo,
  BoxManagedProcessSpec,
  BoxSessionDetail,
  BoxSessionInfo,
  BoxSpec,
  BoxStatus,
  BoxStorageAnalysis,
  SharedWorkspaceProof,
} from '@holdfast/protocol/box'
import type { SkillStore } from '../../skills/skill-store.ts'
import type { OnDoubt } from '../../sessions/executions/live-input.ts'
import type { BoxTenant } from './tenant.ts'

export interface BoxRuntime {
  /** One section after the other replaces what was there; unknown keys do no harm. Quick: it waits for no image. */
  init(config: Readonly<Record<string, unknown>>): Promise<void>
  backendInfo(): Promise<BoxBackendInfo>
  status(tenant: BoxTenant): Promise<BoxStatus>
  /** What the workspace keeps, on the host and in its sandboxes. */
  storage(tenant: BoxTenant): Promise<BoxStorageAnalysis>
  /** Ends every session of every workspace; work that comes later is done as before. */
  shutdown(): Promise<void>
  /** `markerName` has the form of `MARKER_NAME`. Throws `BoxReadinessError`. */
  verifySharedWorkspace(markerName: string): Promise<SharedWorkspaceProof>
  exec(tenant: BoxTenant, spec: BoxSpec, signal: AbortSignal): Promise<BoxExecutionResult>
  createSession(tenant: BoxTenant, spec: BoxSpec, signal: AbortSignal): Promise<BoxSessionInfo>
  getSession(tenant: BoxTenant, logicalId: string): Promise<BoxSessionDetail>
  getSessions(tenant: BoxTenant): Promise<readonly BoxSessionInfo[]>
  deleteSession(tenant: BoxTenant, logicalId: string): Promise<void>
  startProcess(tenant: BoxTenant, logicalId: string, spec: BoxManagedProcessSpec, signal: AbortSignal): Promise<BoxManagedProcessInfo>
  getProcess(tenant: BoxTenant, logicalId: string, processId: string): Promise<BoxManagedProcessInfo>
  stopProcess(tenant: BoxTenant, logicalId: string, processId: string): Promise<void>
  /** Waits while somebody else is attached. */
  attach(tenant: BoxTenant, logicalId: string, processId: string): Promise<BoxAttachment>
  skills(tenant: BoxTenant): SkillStore
  /** The highest generation that a session of this workspace belongs to; `null` when it has none. Asked once per workspace and start. */
  latestGeneration(tenant: BoxTenant): Promise<number | null>
  /** Ends every session of the workspace that belongs to another generation than the tenant's. */
  dropOtherGenerations(tenant: BoxTenant): Promise<void>
  /** Of all workspaces, as far as it is known without asking anybody. */
  counts(): BoxCounts
  close(): Promise<void>
}

export interface BoxCounts {
  readonly sessions: number
  readonly managed_processes: number
  readonly completed_processes: number
}

/** A managed process, as long as somebody holds its input and output. */
export interface BoxAttachment {
  /** One line each with its end, never above 1 MiB. */
  readonly lines: AsyncIterable<string>
  /** Resolves when the process has room for more; that it may not have arrived is told later. */
  write(text: string, onDoubt: OnDoubt): Promise<void>
  readonly ended: Promise<void>
  close(): void
}
