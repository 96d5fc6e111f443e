/**
 * A session's first row.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { SessionRow } from '../../store/tables/sessions.ts'
import { step } from './step.ts'
import type { Step } from './step.ts'

type Given = 'id' | 'tenantId' | 'owner' | 'ownerGroup' | 'key' | 'keyHash' | 'scope' | 'labels' | 'metadata' | 'createdBy' | 'wish'

export interface NewSession extends Pick<SessionRow, Given | 'workspaceOnClose'> {
  readonly times: SessionTimes
  readonly serverId: string
  readonly sandboxId: string
  readonly pack: { readonly profile: string; readonly key: string; readonly uid: number } | null
}

export interface SessionTimes {
  readonly onIdle: SessionRow['onIdle']
  readonly idleMs: number
  readonly leaseMs: number | null
  readonly lifetimeMs: number | null
  readonly retentionMs: number
  readonly recordMs: number
}

export function createSession(wished: NewSession, now: number): Step {
  const { times, pack, ...given } = wished
  const session: SessionRow = {
    ...given,
    state: 'pending',
    version: 1,
    incarnation: 1,
    pendingReason: 'create',
    suspendReason: null,
    closeReason: null,
    closeDetail: null,
    failure: null,
    cleanup: null,
    heldAt: null,
    heldBy: null,
    heldReason: null,
    pendingTransfer: null,
    pack: pack?.profile ?? null,
    packKey: pack?.key ?? null,
    packUid: pack?.uid ?? null,
    workspace: 'intact',
    notice: null,
    running: 0,
    executionCount: 0,
    credentials: [],
    onIdle: times.onIdle,
    idleMs: times.idleMs,
    leaseMs: times.leaseMs,
    leaseAt: times.leaseMs === null ? null : now + times.leaseMs,
    lifetimeAt: times.lifetimeMs === null ? null : now + times.lifetimeMs,
    retentionMs: times.retentionMs,
    recordMs: times.recordMs,
    createdAt: now,
    activityAt: now,
    suspendedAt: null,
    closingAt: null,
    drainUntil: null,
    closedAt: null,
    deadlineAt: null,
    deadline: null,
    eventSeq: 0,
    auditSeq: 0,
    auditHash: '',
  }
  return step(session, {}, { type: 'session.created', data: { pack: session.pack, scope: session.scope } })
}
