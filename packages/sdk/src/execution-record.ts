/**
 * An execution as the server describes it: a command that runs or ran.
 */
import type { ExecutionView } from '@holdfast/protocol'
import type { ExecutionCause, ExecutionStatus } from './command-result.ts'
import { camel } from './wire-names.ts'

export interface ExecutionRecord {
  readonly id: string
  readonly sessionId: string
  readonly sandboxId: string
  readonly incarnation: number
  /** `process`: named and long-lived. */
  readonly kind: 'command' | 'process'
  readonly name: string | null
  /** Who started it. */
  readonly actor: string
  readonly timeoutMs: number | null
  readonly status: ExecutionStatus
  readonly exitCode: number | null
  readonly signal: string | null
  /** Bytes of both streams that were printed, kept or not; of a running one, those of its start. */
  readonly outputSeq: number
  readonly cancelRequestedAt: string | null
  readonly startedAt: string
  readonly endedAt: string | null
  readonly durationMs: number | null
  /** Why it failed; `null` where nothing proves why. */
  readonly cause: ExecutionCause | null
}

/** What was ended. `verified`: nothing of it runs any more. */
export interface Killed {
  readonly executions: number
  readonly killed: number
  readonly verified: boolean
}

export function executionRecord(wire: ExecutionView): ExecutionRecord {
  return camel(wire)
}
