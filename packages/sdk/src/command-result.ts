/**
 * How a command ended and what it printed.
 */
import type { ExecExitEvent, ExecResult } from '@holdfast/protocol'
import { sessionView } from './session-record.ts'
import type { SessionView } from './session-record.ts'

/** `lost`: nobody knows how it ended. `not_started`: there was no such program, or it could not be run. */
export type ExecutionStatus = 'running' | 'completed' | 'timed_out' | 'cancelled' | 'workspace_full' | 'lost' | 'not_started'

export interface CommandExit {
  /** `null` when it did not end by itself. */
  readonly exitCode: number | null
  /** What killed it. */
  readonly signal: string | null
  readonly status: ExecutionStatus
  /** `null` when nobody knows. */
  readonly durationMs: number | null
  /** The time that it had; `null`: no limit. */
  readonly timeoutMs: number | null
  /** Why it failed; `null` where nothing proves why. */
  readonly cause: ExecutionCause | null
  readonly executionId: string
}

/** Why a command failed: the limit that it reached. */
export interface ExecutionCause {
  readonly code: 'timeout' | 'out_of_memory' | 'process_limit' | 'tmp_full' | 'home_full' | 'workspace_full'
  /** Milliseconds for `timeout`, processes for `process_limit`, bytes for the others. */
  readonly limit: number
  /** The field of a request that sets it, such as `limits.memory_bytes`. */
  readonly setting: string
  /** The same as a sentence, with what to do. */
  readonly message: string
}

/** A command that failed is a result too: look at `exitCode`. */
export interface CommandResult extends CommandExit {
  readonly session: SessionView
  /** As text; what is not UTF-8 is replaced. */
  readonly stdout: string
  readonly stderr: string
  /** More was printed than is here. */
  readonly stdoutTruncated: boolean
  readonly stderrTruncated: boolean
}

type Exit = Omit<ExecExitEvent, 'session' | 'timeout_ms' | 'cause'> & Partial<Pick<ExecExitEvent, 'timeout_ms' | 'cause'>>

/** A terminal has neither a timeout nor a cause. */
export function commandExit(wire: Exit): CommandExit {
  return {
    exitCode: wire.exit_code,
    signal: wire.signal,
    status: wire.status,
    durationMs: wire.duration_ms,
    timeoutMs: wire.timeout_ms ?? null,
    cause: wire.cause ?? null,
    executionId: wire.execution_id,
  }
}

export function commandResult(wire: ExecResult): CommandResult {
  return {
    ...commandExit(wire),
    session: sessionView(wire.session),
    stdout: wire.stdout,
    stderr: wire.stderr,
    stdoutTruncated: wire.stdout_truncated,
    stderrTruncated: wire.stderr_truncated,
  }
}
