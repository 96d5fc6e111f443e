/**
 * The guards of the state machine, one by one.
 */
import { guardsOf } from './guard.ts'
import type { Guard } from './guard.ts'

const CARE = 'sessions/lifecycle/care.ts'
const CLOSING = 'sessions/lifecycle/closing.ts'
const COMPUTE = 'sessions/lifecycle/compute.ts'
const DEADLINES = 'sessions/lifecycle/deadlines.ts'
const DUE = 'sessions/lifecycle/due.ts'
const REFUSALS = 'sessions/lifecycle/refusals.ts'
const WORK = 'sessions/lifecycle/work.ts'

export const LIFECYCLE_GUARDS: readonly Guard[] = [
  ...guardsOf(CARE, 'model', [
    [`Step {\n  checkLive(session)\n  const length`, `Step {\n  const length`],
    [
      `session.state === 'idle' || session.state === 'active' ? Math.max(session.activityAt, now) : session.activityAt`,
      `session.activityAt`,
    ],
    [`allowShorten ? now + length : Math.max(session.leaseAt ?? 0, now + length)`, `now + length`],
    [`allowShorten ? now + length : Math.max(session.leaseAt ?? 0, now + length)`, `Math.max(session.leaseAt ?? 0, now + length)`],
    [`session.lifetimeAt !== null && wished > session.lifetimeAt`, `false`],
    [`session.state === 'suspended' ? { suspendedAt: now } : session.state === 'idle' ? { activityAt: now } : {}`, `{}`],
    [
      `boolean {\n  checkLive(session)\n  checkVersion(session, expectedVersion)\n  if (owner`,
      `boolean {\n  checkVersion(session, expectedVersion)\n  if (owner`,
    ],
    [
      `boolean {\n  checkLive(session)\n  checkVersion(session, expectedVersion)\n  if (owner`,
      `boolean {\n  checkLive(session)\n  if (owner`,
    ],
    [`if (session.packKey !== null)`, `if (false)`],
    [
      `Step {\n  checkLive(session)\n  checkVersion(session, expectedVersion)\n  return`,
      `Step {\n  checkVersion(session, expectedVersion)\n  return`,
    ],
    [`Step {\n  checkLive(session)\n  checkVersion(session, expectedVersion)\n  return`, `Step {\n  checkLive(session)\n  return`],
  ]),
  ...guardsOf(CARE, 'unit', [
    [`Math.max(session.activityAt, now)`, `now`],
    [`if (session.heldAt !== null) return unchanged(session)`, ``],
    [`if (session.heldAt === null) return unchanged(session)`, ``],
    [`if (owner === session.owner && ownerGroup === session.ownerGroup) return false`, ``],
  ]),
  ...guardsOf(CLOSING, 'model', [
    [
      `isDraining(session, now) && session.closeReason === 'release' && reason === 'cancel'`,
      `session.closeReason === 'release' && reason === 'cancel'`,
    ],
    [
      `isDraining(session, now) && session.closeReason === 'release' && reason === 'cancel'`,
      `isDraining(session, now) && reason === 'cancel'`,
    ],
    [
      `isDraining(session, now) && session.closeReason === 'release' && reason === 'cancel'`,
      `isDraining(session, now) && session.closeReason === 'release'`,
    ],
    [`isDraining(session, now) && session.closeReason === 'release' && reason === 'cancel'`, `false`],
    [`if (!isLive(session.state) && !isEscalation) return unchanged(session)`, ``],
    [`Math.min(now + drainMs, session.lifetimeAt ?? Number.POSITIVE_INFINITY)`, `now + drainMs`],
    [`session.running > 0 && drainUntil > now ? drainUntil : null`, `session.running > 0 ? drainUntil : null`],
    [`state === 'closing' && running > 0 && drainUntil !== null && now < drainUntil`, `false`],
    [
      `state === 'closing' && running > 0 && drainUntil !== null && now < drainUntil`,
      `state === 'closing' && drainUntil !== null && now < drainUntil`,
    ],
    [`running: 0, sandboxId: null, notice: null`, `running: 0, notice: null`],
  ]),
  ...guardsOf(CLOSING, 'unit', [
    [`session.running > 0 && drainUntil > now ? drainUntil : null`, `drainUntil > now ? drainUntil : null`],
    [
      `state === 'closing' && running > 0 && drainUntil !== null && now < drainUntil`,
      `running > 0 && drainUntil !== null && now < drainUntil`,
    ],
    [`if (session.state !== 'closing' || session.closeReason === null) return unchanged(session)`, ``],
    [`cleanup, running: 0, sandboxId: null`, `cleanup, sandboxId: null`],
  ]),
  ...guardsOf(COMPUTE, 'model', [
    [`notice: suspendReason === null ? null : noticeOf(suspendReason, workspace, session.wish.home ?? 'ephemeral')`, `notice: null`],
    [`if (session.pendingReason === 'create') return beginClosing`, `if (true) return beginClosing`],
    [`if (session.pendingReason === 'create') return beginClosing`, `if (false) return beginClosing`],
    [`suspendedAt: session.suspendedAt ?? now, failure }`, `suspendedAt: now, failure }`],
    [`if (session.state === 'suspended') return unchanged(session)\n  checkLive`, `checkLive`],
    [`return unchanged(session)\n  checkLive(session)\n  if (reason`, `return unchanged(session)\n  if (reason`],
    [`if (reason !== 'server_stopped') checkNotHeld(session)`, ``],
    [`if (session.running > 0)`, `if (false)`],
    [`if (session.state === 'pending') throw new HoldfastError('session_unavailable', 'the session is just being made ready')`, ``],
    [`if (isDraining(session, now)) return step(session, { running: 0 })`, ``],
    [`letGo({ ...session, running: 0 }, 'sandbox_lost', now, { type`, `letGo(session, 'sandbox_lost', now, { type`],
    [`if (session.state === 'pending' || session.state === 'idle' || session.state === 'active') return unchanged(session)`, ``],
    [`isRebind ? 'session.rebinding' : 'session.resuming'`, `'session.resumed'`],
    [`incarnation: session.incarnation + 1,`, ``],
    [`suspendedAt: now,\n    incarnation`, `incarnation`],
  ]),
  ...guardsOf(COMPUTE, 'unit', [
    [`      activityAt: now,\n    },\n    { type: READY_EVENT`, `    },\n    { type: READY_EVENT`],
    [
      `if (session.state !== 'pending' || session.sandboxId !== sandboxId) return unchanged(session)\n  const { suspendReason`,
      `const { suspendReason`,
    ],
    [
      `if (session.state !== 'pending' || session.sandboxId !== sandboxId) return unchanged(session)\n  if (session.pendingReason`,
      `if (session.pendingReason`,
    ],
    [`if (!isServed) return unchanged(session)`, ``],
    [`if (session.sandboxId !== sandboxId) return unchanged(session)\n  // Work`, `// Work`],
    [
      `return unchanged(session)\n  checkLive(session)\n  checkNotHeld(session)\n  const isRebind`,
      `return unchanged(session)\n  checkNotHeld(session)\n  const isRebind`,
    ],
    [
      `return unchanged(session)\n  checkLive(session)\n  checkNotHeld(session)\n  const isRebind`,
      `return unchanged(session)\n  checkLive(session)\n  const isRebind`,
    ],
    [`session.state === 'pending' ? step(session, { activityAt: now }) : unchanged(session)`, `step(session, { activityAt: now })`],
    [`if (session.serverId === serverId) return unchanged(session)`, ``],
    [`if (!isLive(session.state)) return step(session, { serverId, running: 0 })`, ``],
    [`if (session.state === 'suspended') return step(session, { serverId, sandboxId: null })`, ``],
  ]),
  ...guardsOf(DEADLINES, 'model', [
    [`if (state === 'closing' || isClosed(state)) return { at: null, reason: null }`, ``],
    [`heldAt === null && running === 0`, `running === 0`],
    [`heldAt === null && running === 0`, `heldAt === null`],
    [`onIdle === 'suspend' ? { at: activityAt + idleMs + retentionMs, kind: 'retention' as const } : idle(session)`, `idle(session)`],
    [`heldAt === null ? idle(session) : null`, `idle(session)`],
    [`running === 0 ? { at: activityAt + DRAINED_MS, kind: 'drained' } : null`, `{ at: activityAt + DRAINED_MS, kind: 'drained' }`],
    [
      `heldAt === null ? { at: (suspendedAt ?? activityAt) + retentionMs, kind: 'retention' } : null`,
      `{ at: (suspendedAt ?? activityAt) + retentionMs, kind: 'retention' }`,
    ],
    [
      `heldAt === null ? { at: (closedAt ?? activityAt) + recordMs, kind: 'record' } : null`,
      `{ at: (closedAt ?? activityAt) + recordMs, kind: 'record' }`,
    ],
    [`running > 0 && drainUntil !== null`, `false`],
    [`due.at < first.at`, `due.at > first.at`],
  ]),
  ...guardsOf(DEADLINES, 'unit', [[`Math.max(closingAt ?? activityAt, drainUntil ?? 0)`, `(closingAt ?? activityAt)`]]),
  ...guardsOf(DUE, 'model', [
    [`next !== null && next.at <= now ? next : null`, `next !== null && next.at < now ? next : null`],
    [
      `session.onIdle === 'suspend' ? suspend(session, 'idle', now) : beginClosing(session, { reason: 'expire', detail: 'idle' }, now)`,
      `suspend(session, 'idle', now)`,
    ],
    [`detail: 'lease', drainMs: DRAIN_MS`, `detail: 'lease'`],
    [`return step(session, { drainUntil: null })`, `return unchanged(session)`],
  ]),
  ...guardsOf(DUE, 'unit', [
    [`next !== null && next.at <= now ? next : null`, `next`],
    [`return session.pendingReason === 'create'`, `return false`],
    [`return session.pendingReason === 'create'`, `return true`],
    [`aligned.session.deadlineAt === session.deadlineAt ? unchanged(session) : aligned`, `unchanged(session)`],
  ]),
  ...guardsOf(REFUSALS, 'model', [
    [`if (isLive(state)) return`, `return`],
    [`if (heldAt !== null) throw`, `if (false) throw`],
    [`if (expected === undefined || expected === incarnation) return`, `return`],
    [`if (expected === undefined || expected === version) return`, `return`],
  ]),
  ...guardsOf(WORK, 'unit', [
    [`checkLive(session)\n  checkNotHeld(session)\n  checkIncarnation`, `checkNotHeld(session)\n  checkIncarnation`],
    [`checkLive(session)\n  checkNotHeld(session)\n  checkIncarnation`, `checkLive(session)\n  checkIncarnation`],
    [`checkIncarnation(session, expectedIncarnation)\n`, ``],
    [`if (session.state !== 'idle' && session.state !== 'active')\n    throw`, `if (false)\n    throw`],
    [`if (session.running === 0) return unchanged(session)`, ``],
    [`at > session.activityAt ? step(session, { activityAt: at }) : unchanged(session)`, `step(session, { activityAt: at })`],
    [`session.state === 'active' && session.running === 0 && session.activityAt`, `session.running === 0 && session.activityAt`],
    [`session.state === 'active' && session.running === 0 && session.activityAt`, `session.state === 'active' && session.activityAt`],
    // A server comes here only by that very deadline: `due.ts` has looked at the same three before.
    [`session.activityAt + DRAINED_MS <= now`, `true`],
  ]),
  ...guardsOf(WORK, 'model', [
    [`if (session.running >= maxRunning)`, `if (false)`],
    [`session.state === 'idle' ? step(session, change, { type: 'session.active' }) : step(session, change)`, `step(session, change)`],
    [`executionCount: session.executionCount + 1, activityAt: now`, `executionCount: session.executionCount + 1`],
    [`deliveredNotice === session.notice ? null : session.notice`, `session.notice`],
    [`deliveredNotice === session.notice ? null : session.notice`, `null`],
    [`activityAt: Math.max(session.activityAt, now), notice`, `notice`],
    [`if (session.state !== 'idle' && session.state !== 'active') return unchanged(session)`, ``],
  ]),
]
