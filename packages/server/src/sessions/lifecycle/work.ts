/**
 * Work in a session: begun, ended, noticed.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Work is what keeps a session from idling out. Reads, lists and health probes never come here.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { DRAINED_MS } from './deadlines.ts'
import { checkIncarnation, checkLive, checkNotHeld } from './refusals.ts'
import { step, unchanged } from './step.ts'
import type { Step } from './step.ts'

export interface WorkRules {
  readonly maxRunning: number
  readonly expectedIncarnation: number | undefined
}

/** One more execution. The session must be there and have a place for it. */
export function beginWork(session: SessionRow, { maxRunning, expectedIncarnation }: WorkRules, now: number): Step {
  checkLive(session)
  checkNotHeld(session)
  checkIncarnation(session, expectedIncarnation)
  if (session.state !== 'idle' && session.state !== 'active')
    throw new HoldfastError('session_unavailable', `the session is ${session.state}`, { state: session.state })
  if (session.running >= maxRunning)
    throw new HoldfastError('quota_exceeded', `${maxRunning} executions may run in one session at a time`, {
      quota: 'executions_per_session',
      setting: 'sessions.max_executions',
      limit: maxRunning,
      used: session.running,
    })
  const change = { state: 'active', running: session.running + 1, executionCount: session.executionCount + 1, activityAt: now } as const
  return session.state === 'idle' ? step(session, change, { type: 'session.active' }) : step(session, change)
}

/** One execution less; also while closing. A notice that went out with its result is not repeated. */
export function endWork(session: SessionRow, deliveredNotice: string | null, now: number): Step {
  if (session.running === 0) return unchanged(session)
  const notice = deliveredNotice === session.notice ? null : session.notice
  return step(session, { running: session.running - 1, activityAt: Math.max(session.activityAt, now), notice })
}

/** Work that is no execution: a file, forwarded bytes, input. */
export function noteActivity(session: SessionRow, at: number): Step {
  if (session.state !== 'idle' && session.state !== 'active') return unchanged(session)
  return at > session.activityAt ? step(session, { activityAt: at }) : unchanged(session)
}

/** The last work ended a while ago. */
export function becomeIdle(session: SessionRow, now: number): Step {
  const isDrained = session.state === 'active' && session.running === 0 && session.activityAt + DRAINED_MS <= now
  return isDrained ? step(session, { state: 'idle' }, { type: 'session.idle', reason: 'drained' }) : unchanged(session)
}
