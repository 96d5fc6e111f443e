/**
 * What the model knows: sessions, their work, the sandboxes they are in, and the time.
 *
 * Written from the design of sessions, not from the server's code: it imports nothing of the server but the names of states.
 */
import type { ClosedState, CloseReason, ExecutionStatus, SessionState, SuspendReason } from '@holdfast/protocol'
import { OWNERS, TENANTS } from './rules.ts'
import type { Owner, Tenant, WishName } from './rules.ts'

export interface ModelExecution {
  /** Counts all executions of a sequence. */
  readonly number: number
  readonly kind: 'command' | 'process'
  readonly name: string | null
  readonly startedAt: number
  /** `null`: it runs. */
  endedAt: number | null
  status: ExecutionStatus
  /** `null`: none, or a signal. */
  exitCode: number | null
  /** The notice that went out when it started, to be dropped with its end. */
  carries: string | null
}

export interface ModelSession {
  readonly key: string
  readonly wish: WishName
  readonly isPacked: boolean
  owner: Owner
  state: SessionState
  incarnation: number
  suspendReason: SuspendReason | null
  closeReason: CloseReason | null
  closeDetail: string | null
  isHeld: boolean
  notice: string | null
  workspace: 'intact' | 'lost'
  /** Lines that its commands wrote; `null` when there is no workspace. */
  files: string[] | null
  label: string | null
  executions: ModelExecution[]
  /** The sandbox it is in. */
  box: number | null

  onIdle: 'suspend' | 'release'
  onClose: 'delete' | 'keep'
  idleMs: number
  leaseMs: number | null
  leaseAt: number | null
  lifetimeAt: number | null
  retentionMs: number
  activityAt: number
  suspendedAt: number
  closingAt: number
  /** Until then running work may go on. */
  drainUntil: number | null
  closedAt: number
  cleanup: { readonly verified: boolean; readonly sandbox: string; readonly workspace: string } | null
  isPurged: boolean
  /** Something was written about it since it was last looked at. */
  isTouched: boolean
}

export interface ModelBox {
  readonly number: number
  /** Sessions of equal keys may share it; `null` for one of its own. */
  readonly packKey: string | null
  /** Whose workspace it shows; `null` for a shared one. */
  readonly session: number | null
  /** It was to be destroyed, and could not be: nobody moves in. */
  isQuarantined: boolean
  /** It was full a moment ago: whoever is leaving it may still be in there. */
  wasFull: boolean
}

export interface World {
  now: number
  readonly sessions: ModelSession[]
  boxes: ModelBox[]
  boxesMade: number
  executionsMade: number
  /** What the backend fails at. */
  readonly trouble: { create: boolean; destroy: boolean }
  /** Activity that is in memory only: when each session had some. */
  noted: [session: number, at: number][]
  readonly onStop: 'keep' | 'suspend'
  /** While an action is told: the sandboxes in which whoever leaves finds a neighbour, though that one leaves as well. */
  readonly crowded: readonly number[]
}

export function newWorld(now: number, onStop: World['onStop']): World {
  return {
    ...{ now, onStop, sessions: [], boxes: [], boxesMade: 0, executionsMade: 0, noted: [], crowded: [] },
    trouble: { create: false, destroy: false },
  }
}

const CLOSED: readonly string[] = ['released', 'cancelled', 'expired', 'failed'] satisfies ClosedState[]

export function isClosed({ state }: ModelSession): boolean {
  return CLOSED.includes(state)
}

export function isLive(session: ModelSession): boolean {
  return !isClosed(session) && session.state !== 'closing'
}

export function isServed({ state }: ModelSession): boolean {
  return state === 'idle' || state === 'active'
}

export function runningIn(session: ModelSession): readonly ModelExecution[] {
  return session.executions.filter(({ status }) => status === 'running')
}

export function isDraining(session: ModelSession, now: number): boolean {
  return session.state === 'closing' && runningIn(session).length > 0 && session.drainUntil !== null && now < session.drainUntil
}

export function tenantOf({ owner }: ModelSession): Tenant {
  return TENANTS[OWNERS[owner]]
}

/** What counts towards quotas, of one owner and of the owner's tenant. */
export function countsFor({ sessions }: World, owner: Owner) {
  const ofTenant = sessions.filter((session) => OWNERS[session.owner] === OWNERS[owner] && !isClosed(session))
  const holds = (each: ModelSession) => isServed(each)
  const own = ofTenant.filter((session) => session.owner === owner)
  return {
    open: ofTenant.length,
    openOfOwner: own.length,
    compute: ofTenant.filter(holds).length,
    computeOfOwner: own.filter(holds).length,
  }
}
