/**
 * The model's deadlines: what ends or moves a session by time alone.
 */
import { CLEANUP_MS, DEBOUNCE_MS, TIMES } from './rules.ts'
import { isClosed, isLive, isServed, runningIn } from './world.ts'
import type { ModelSession } from './world.ts'

export type DueKind = 'debounce' | 'idle' | 'lease' | 'lifetime' | 'retention' | 'drain' | 'cleanup' | 'record'

export interface ModelDue {
  readonly kind: DueKind
  readonly at: number
}

/** Everything that is ahead, or was missed, the earliest first. */
export function duesOf(session: ModelSession): readonly ModelDue[] {
  const dues: ModelDue[] = []
  const add = (kind: DueKind, at: number | null) => {
    if (at !== null) dues.push({ kind, at })
  }
  const isBusy = runningIn(session).length > 0
  if (session.state === 'active' && !isBusy) add('debounce', session.activityAt + DEBOUNCE_MS)
  if (session.state === 'idle' && !session.isHeld) add('idle', session.activityAt + session.idleMs)
  if (session.state === 'suspended' && !session.isHeld) add('retention', session.suspendedAt + session.retentionMs)
  if (session.state === 'closing' && isBusy) add('drain', session.drainUntil)
  if (session.state === 'closing' && !isBusy) add('cleanup', Math.max(session.closingAt, session.drainUntil ?? 0) + CLEANUP_MS)
  if (isClosed(session) && !session.isHeld) add('record', session.closedAt + TIMES.recordMs)
  if (isLive(session)) {
    // A lease may be refreshed up to the lifetime; then it is the lifetime that ends it.
    add('lifetime', session.lifetimeAt)
    add('lease', session.leaseAt)
  }
  return dues.toSorted((left, right) => left.at - right.at)
}

/** When it will be over if nothing happens to it, and why. */
export function expiryOf(session: ModelSession): { readonly at: number | null; readonly reason: string | null } {
  if (!isLive(session)) return { at: null, reason: null }
  const ends: ModelDue[] = []
  if (session.lifetimeAt !== null) ends.push({ kind: 'lifetime', at: session.lifetimeAt })
  if (session.leaseAt !== null) ends.push({ kind: 'lease', at: session.leaseAt })
  if (!session.isHeld && session.state === 'suspended') ends.push({ kind: 'retention', at: session.suspendedAt + session.retentionMs })
  if (!session.isHeld && isServed(session) && runningIn(session).length === 0) {
    const idleAt = session.activityAt + session.idleMs
    // An idle one is suspended first, and ends when nobody came back for it.
    ends.push(session.onIdle === 'release' ? { kind: 'idle', at: idleAt } : { kind: 'retention', at: idleAt + session.retentionMs })
  }
  const first = ends.toSorted((left, right) => left.at - right.at)[0]
  return { at: first?.at ?? null, reason: first?.kind ?? null }
}
