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
  readonly executionId: string
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

export function commandExit({ exit_code, signal, status, duration_ms, execution_id }: Omit<ExecExitEvent, 'session'>): CommandExit {
  return { exitCode: exit_code, signal, status, durationMs: duration_ms, executionId: execution_id }
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
