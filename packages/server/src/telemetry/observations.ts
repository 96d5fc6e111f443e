/**
 * What the parts tell of their work, one small interface for each stage. What becomes of it is decided by who listens: metrics, traces, nobody.
 *
 * Stands beside the flow. The parts know these interfaces and no library. Nothing here takes an id, a key, a path or any text that a caller wrote,
 * so none of it can become the label of a metric or the attribute of a span.
 */
import type { CloseReason, ExecutionStatus, SuspendReason } from '@holdfast/protocol'
import type { BackendKind } from '../sandboxes/backend.ts'
import { healthCounts } from '../sandboxes/health.ts'
import type { HealthCounts } from '../sandboxes/health.ts'
import { untraced } from './tracing.ts'
import type { Tracing } from './tracing.ts'

/** Told once the answer begins: of a stream, that is not its end. */
export interface RequestObserver {
  /** `route` as the table has it, `null` for an address that has no row. */
  requestAnswered(route: string | null, method: string, status: number, seconds: number): void
  /** Gives what is to be called, once, at its end. */
  streamOpened(): () => void
}

export interface SessionObserver {
  sessionCreated(): void
  /** Asked for by its key, and open already. */
  sessionFound(): void
  sessionClosed(reason: CloseReason): void
  sessionSuspended(reason: SuspendReason): void
  sessionResumed(): void
  /** No place for its sandbox, and no idle session that could give one up: `sessions.max`. */
  placeRefused(): void
  /** Has a sandbox again after it lost one. */
  sessionRebound(): void
  executionBegun(kind: 'command' | 'process'): void
  /** Its program runs, so long after it was asked for. */
  executionStarted(seconds: number): void
  /** `null`: nobody knows for how long it ran. */
  executionEnded(status: ExecutionStatus, seconds: number | null): void
  outputPrinted(bytes: number): void
}

export type SandboxOutcome = 'started' | 'failed' | 'unwanted'

export interface SandboxObserver {
  /** Where the sandboxes of this backend count their health checks. */
  healthOf(backend: BackendKind): HealthCounts
  sandboxMade(backend: BackendKind, outcome: SandboxOutcome, seconds: number): void
}

export interface WebhookObserver {
  webhookTried(isTaken: boolean): void
  /** Tried too often in vain. */
  webhookEventGivenUp(): void
}

export const MCP_OUTCOMES = ['answered', 'tool_error', 'refused', 'failed', 'left'] as const
/** `tool_error`: a result that says so; `refused`: an error of the server; `failed`: no answer; `left`: the client did not wait for it. */
export type McpOutcome = (typeof MCP_OUTCOMES)[number]
export const MCP_METHODS = ['tools/call', 'other'] as const
export type McpMethod = (typeof MCP_METHODS)[number]

export interface McpObserver {
  /** A request of a client to a server in a box is over. */
  mcpRequestEnded(method: McpMethod, outcome: McpOutcome, seconds: number): void
  /** One try to start a server is over. */
  mcpServerStarted(outcome: SandboxOutcome, seconds: number): void
}

/** Connections to the database. */
export interface PoolUse {
  readonly used: number
  readonly idle: number
  /** Transactions that wait for one. */
  readonly waiting: number
}

export interface StoreObserver {
  transactionEnded(kind: 'read' | 'write', seconds: number): void
  /** Tried again because another process or transaction was in the way. */
  transactionRetried(): void
  /** A store with a pool says how to look at it. */
  poolOpened(use: () => PoolUse): void
}

/** All of it, as the composition root hands it out. */
export interface Observer extends RequestObserver, SessionObserver, SandboxObserver, McpObserver, WebhookObserver, StoreObserver {
  readonly tracing: Tracing
}

const nothing = () => undefined

/** Nobody listens. */
export const unobserved: Observer = {
  requestAnswered: nothing,
  streamOpened: () => nothing,
  sessionCreated: nothing,
  sessionFound: nothing,
  sessionClosed: nothing,
  sessionSuspended: nothing,
  sessionResumed: nothing,
  placeRefused: nothing,
  sessionRebound: nothing,
  executionBegun: nothing,
  executionStarted: nothing,
  executionEnded: nothing,
  outputPrinted: nothing,
  healthOf: healthCounts,
  sandboxMade: nothing,
  mcpRequestEnded: nothing,
  mcpServerStarted: nothing,
  webhookTried: nothing,
  webhookEventGivenUp: nothing,
  transactionEnded: nothing,
  transactionRetried: nothing,
  poolOpened: nothing,
  tracing: untraced,
}
