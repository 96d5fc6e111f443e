/**
 * A session and its sandbox: made ready, given up, asked for again, lost.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * `incarnation` grows in the step that lets go of a sandbox, so that an expectation about the old one fails before a new
 * one is made. Whether the workspace survived is seen when the new one is ready, and told then.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SuspendReason, WorkspaceVerdict } from '@holdfast/protocol'
import type { TcpOverrun } from '../../sandboxes/backend.ts'
import type { LentCredential, SessionRow } from '../../store/tables/sessions.ts'
import { beginClosing, isDraining } from './closing.ts'
import { without } from './credentials.ts'
import { noticeOf } from './notice.ts'
import { checkLive, checkNotHeld } from './refusals.ts'
import { isLive } from './state.ts'
import { step, unchanged } from './step.ts'
import type { EventDraft, Step } from './step.ts'

/** The sandbox it waits for runs and its place in it is prepared. Any other sandbox is none of its business. */
export function becomeReady(session: SessionRow, sandboxId: string, workspace: WorkspaceVerdict, now: number): Step {
  if (session.state !== 'pending' || session.sandboxId !== sandboxId) return unchanged(session)
  const { suspendReason, pendingReason } = session
  return step(
    session,
    {
      state: 'idle',
      pendingReason: null,
      suspendReason: null,
      suspendedAt: null,
      failure: null,
      workspace,
      notice: suspendReason === null ? null : noticeOf(suspendReason, workspace, session.wish.home ?? 'ephemeral'),
      activityAt: now,
    },
    { type: READY_EVENT[pendingReason ?? 'create'], reason: 'ready', data: { workspace } },
  )
}

const READY_EVENT = { create: 'session.idle', resume: 'session.resumed', rebind: 'session.rebound' } as const

/** A new session that cannot have a sandbox fails; one that had work before keeps its workspace and may be asked again. */
export function failToStart(
  session: SessionRow,
  sandboxId: string,
  failure: { readonly code: string; readonly message: string },
  now: number,
): Step {
  if (session.state !== 'pending' || session.sandboxId !== sandboxId) return unchanged(session)
  if (session.pendingReason === 'create') return beginClosing(session, { reason: 'fail', detail: failure.code, failure }, now)
  return step(
    session,
    { state: 'suspended', pendingReason: null, sandboxId: null, suspendedAt: session.suspendedAt ?? now, failure },
    { type: 'session.suspended', reason: failure.code },
  )
}

/**
 * Lets go of the sandbox and keeps the workspace. Running work is in the way. Credentials go with the sandbox unless they were lent to
 * stay, the caller keeps them, or the server only stops for a while.
 */
export function suspend(
  session: SessionRow,
  reason: Exclude<SuspendReason, 'sandbox_lost' | 'tcp_limit'>,
  now: number,
  keepsCredentials = reason === 'server_stopped',
): Step {
  if (session.state === 'suspended') return unchanged(session)
  checkLive(session)
  if (reason !== 'server_stopped') checkNotHeld(session)
  if (session.running > 0)
    throw new HoldfastError('session_busy', `${session.running} executions run in this session`, { running: session.running })
  if (session.state === 'pending') throw new HoldfastError('session_unavailable', 'the session is just being made ready')
  return letGo(session, reason, now, { type: 'session.suspended', reason }, ({ onSuspend }) => keepsCredentials || onSuspend === 'keep')
}

/** The next sandbox has an empty home. The present one shows the old home, so the session lets go of it. Running work is in the way. */
export function resetHome(session: SessionRow, now: number): Step {
  checkLive(session)
  checkNotHeld(session)
  const { session: suspended, events } = suspend(session, 'home_reset', now)
  const wish = { ...suspended.wish, home_generation: (suspended.wish.home_generation ?? 0) + 1 }
  return step(suspended, { wish, suspendReason: 'home_reset' }, ...events, { type: 'home.reset' })
}

/** Its sandbox is gone; with an overrun, the server killed it. What ran in it is marked as lost in the same transaction. */
export function loseSandbox(session: SessionRow, sandboxId: string, now: number, overrun: TcpOverrun | null = null): Step {
  const isServed = session.state === 'idle' || session.state === 'active'
  if (session.sandboxId !== sandboxId) return unchanged(session)
  // Work that it waited for will not end any more.
  if (isDraining(session, now)) return step(session, { running: 0 })
  if (!isServed) return unchanged(session)
  if (overrun === null) return letGo({ ...session, running: 0 }, 'sandbox_lost', now, { type: 'session.suspended', reason: 'sandbox_lost' })
  const data = { held_bytes: overrun.heldBytes, limit_bytes: overrun.limitBytes }
  return letGo({ ...session, running: 0 }, 'tcp_limit', now, { type: 'session.suspended', reason: 'tcp_limit', data })
}

/** Asks for a sandbox again, with the one that placement found for it. */
export function resume(session: SessionRow, place: { readonly sandboxId: string; readonly serverId: string }, now: number): Step {
  if (session.state === 'pending' || session.state === 'idle' || session.state === 'active') return unchanged(session)
  checkLive(session)
  checkNotHeld(session)
  const isRebind = session.suspendReason === 'sandbox_lost' || session.suspendReason === 'tcp_limit'
  return step(
    session,
    { state: 'pending', pendingReason: isRebind ? 'rebind' : 'resume', ...place, activityAt: now },
    { type: isRebind ? 'session.rebinding' : 'session.resuming', data: { incarnation: session.incarnation } },
  )
}

/** After a restart the making of its sandbox begins again, with its full time. */
export function resumePending(session: SessionRow, now: number): Step {
  return session.state === 'pending' ? step(session, { activityAt: now }) : unchanged(session)
}

/** Another server hosts it from here on, because the one that did keeps its promise no longer. What ran there is lost. */
export function takeOver(session: SessionRow, serverId: string, now: number): Step {
  if (session.serverId === serverId) return unchanged(session)
  // Its clean-up still sees which sandbox could not be reached.
  if (!isLive(session.state)) return step(session, { serverId, running: 0 })
  if (session.state === 'suspended') return step(session, { serverId, sandboxId: null })
  const event: EventDraft = { type: 'session.suspended', reason: 'sandbox_lost', data: { taken_over: true } }
  return letGo({ ...session, running: 0, serverId, pendingReason: null }, 'sandbox_lost', now, event)
}

/** Without its sandbox nothing is left of a credential that was being removed. */
function letGo(
  session: SessionRow,
  reason: SuspendReason,
  now: number,
  event: EventDraft,
  stays: (credential: LentCredential) => boolean = () => true,
): Step {
  const { credentials, events } = without(session, reason, (credential) => credential.removal === null && stays(credential))
  const change = {
    state: 'suspended',
    suspendReason: reason,
    sandboxId: null,
    suspendedAt: now,
    incarnation: session.incarnation + 1,
    credentials,
  } as const
  return step(session, change, ...events, event)
}
