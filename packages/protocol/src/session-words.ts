/**
 * The words of a session's life: its states, why it is in them, and which deadlines can move it on.
 *
 * Loss of contact, quarantine and hold are conditions, not states. Every state has an exit: each has a deadline, or work that ends.
 */

export const LIVE_STATES = ['pending', 'idle', 'active', 'suspended'] as const
export const CLOSED_STATES = ['released', 'cancelled', 'expired', 'failed'] as const
export const SESSION_STATES = [...LIVE_STATES, 'closing', ...CLOSED_STATES] as const

export type LiveState = (typeof LIVE_STATES)[number]
export type ClosedState = (typeof CLOSED_STATES)[number]
export type SessionState = (typeof SESSION_STATES)[number]

/** Why a session waits for a sandbox. `rebind`: the one it had was lost. */
export const PENDING_REASONS = ['create', 'resume', 'rebind'] as const
export type PendingReason = (typeof PENDING_REASONS)[number]

/**
 * Why it holds no sandbox. `capacity`: it was idle and all places of its server were taken (`sessions.max`). `home_reset`: its home was emptied. `tcp_limit`: its TCP sockets
 * held more than their limit allows, and the server killed the sandbox.
 */
export const SUSPEND_REASONS = ['idle', 'caller', 'sandbox_lost', 'server_stopped', 'capacity', 'home_reset', 'tcp_limit'] as const
export type SuspendReason = (typeof SUSPEND_REASONS)[number]

export const CLOSE_REASONS = ['release', 'cancel', 'expire', 'fail'] as const
export type CloseReason = (typeof CLOSE_REASONS)[number]

/**
 * What the sweep acts on when it comes due. `drained`: an active session whose last work ended a moment ago becomes idle. `drain`:
 * running work has had its time. `record`: a closed session's record is dropped.
 */
export const DEADLINES = ['provision', 'drained', 'idle', 'lease', 'lifetime', 'retention', 'drain', 'cleanup', 'record'] as const
export type Deadline = (typeof DEADLINES)[number]

/** What of the workspace a caller finds: as it was, from a copy, or a fresh one in place of what is gone. */
export const WORKSPACE_VERDICTS = ['intact', 'restored', 'lost'] as const
export type WorkspaceVerdict = (typeof WORKSPACE_VERDICTS)[number]

/**
 * How an execution ended. `workspace_full`: it was stopped because the workspace held more than its bound. `lost`: nobody knows.
 * `not_started`: there was no such program, or it could not be run.
 */
export const EXECUTION_STATUSES = ['running', 'completed', 'timed_out', 'cancelled', 'workspace_full', 'lost', 'not_started'] as const
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number]
