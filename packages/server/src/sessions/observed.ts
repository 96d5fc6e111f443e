/**
 * The same parts, with somebody who is told what they do and how long it takes.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * What became of a session and of its executions is told by the events of its changes, in one place, whoever made the change.
 */
import { EXECUTION_STATUSES } from '@holdfast/protocol'
import type { ExecutionStatus } from '@holdfast/protocol'
import type { BackendKind } from '../sandboxes/backend.ts'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { SandboxObserver, SessionObserver } from '../telemetry/observations.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { Executions } from './executions/executions.ts'
import type { GetOrCreate } from './getting.ts'
import { isClosed } from './lifecycle/state.ts'
import type { EventDraft } from './lifecycle/step.ts'
import type { Readiness } from './readiness.ts'
import type { Running } from './running.ts'

/** What the sessions tell, and to whom. */
export interface SessionsObserver extends SessionObserver, SandboxObserver {
  readonly tracing: Tracing
}

/** After the commit of a change. */
export function observeChange(observer: SessionObserver, session: SessionRow, events: readonly EventDraft[]): void {
  for (const { type, reason, data } of events) {
    if (type === 'execution.started') observer.executionBegun('command')
    else if (type === 'process.started') observer.executionBegun('process')
    else if (type === 'execution.ended' || type === 'process.ended') observer.executionEnded(statusOf(data?.['status']), secondsOf(data))
    else if (type === 'session.created') observer.sessionCreated()
    else if (type === 'session.resumed') observer.sessionResumed()
    else if (type === 'session.rebound') observer.sessionRebound()
    // One that could not be resumed is suspended as before, for the reason of then; the event tells what was in the way.
    else if (type === 'session.suspended' && session.suspendReason !== null && reason === session.suspendReason)
      observer.sessionSuspended(session.suspendReason)
    else if (session.closeReason !== null && isClosed(session.state) && type === `session.${session.state}`)
      observer.sessionClosed(session.closeReason)
  }
}

export function observedGetting(getOrCreate: GetOrCreate, { tracing, sessionFound }: SessionsObserver): GetOrCreate {
  return async (caller, request, signal) => {
    const got = await tracing.step('session.get-or-create', () => getOrCreate(caller, request, signal))
    if (!got.isNew) sessionFound()
    return got
  }
}

export function observedReadiness(readiness: Readiness, { tracing }: SessionsObserver): Readiness {
  return { ...readiness, ensure: (...values) => tracing.step('session.ready', () => readiness.ensure(...values)) }
}

export function observedExecutions(executions: Executions, { tracing }: SessionsObserver): Executions {
  return { ...executions, start: (...values) => tracing.step('execution.start', () => executions.start(...values)) }
}

/** A caller waits for its program from the moment of asking. */
export function observedRunning(running: Running, { executionStarted }: SessionsObserver): Running {
  return {
    ...running,
    run(caller, target, request, signal, attend) {
      const since = performance.now()
      return running.run(caller, target, request, signal, (started) => {
        executionStarted(secondsSince(since))
        return attend(started)
      })
    },
    async start(caller, target, request, signal) {
      const since = performance.now()
      const started = await running.start(caller, target, request, signal)
      executionStarted(secondsSince(since))
      return started
    },
  }
}

export async function observedMaking(
  { tracing, sandboxMade }: SessionsObserver,
  backend: BackendKind,
  signal: AbortSignal,
  make: () => Promise<LiveSandbox>,
): Promise<LiveSandbox> {
  const since = performance.now()
  try {
    const sandbox = await tracing.step('sandbox.make', make)
    sandboxMade(backend, 'started', secondsSince(since))
    return sandbox
  } catch (error) {
    sandboxMade(backend, signal.aborted ? 'unwanted' : 'failed', secondsSince(since))
    throw error
  }
}

function statusOf(status: unknown): ExecutionStatus {
  return EXECUTION_STATUSES.find((known) => known === status) ?? 'lost'
}

/** A guest measured it, and a guest may say anything. */
function secondsOf(data: EventDraft['data']): number | null {
  const durationMs = data?.['duration_ms']
  return typeof durationMs === 'number' && Number.isFinite(durationMs) && durationMs >= 0 ? durationMs / 1000 : null
}

function secondsSince(since: number): number {
  return (performance.now() - since) / 1000
}
