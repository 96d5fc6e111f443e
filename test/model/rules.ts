/**
 * The settings of the server that a sequence runs, and the people in it: known to the model and to the system alike.
 *
 * Everything is small, so that limits are met within a few actions, and times are prime, so that no two deadlines meet by accident.
 */
export const SECOND = 1000

/** Of every session that does not ask for others. */
export const TIMES = {
  idleMs: 97 * SECOND,
  retentionMs: 1013 * SECOND,
  recordMs: 5003 * SECOND,
} as const

/** How long events are kept: longer than any sequence. */
export const EVENTS_MS = 10_000_000 * SECOND

/** From `sessions.md` and its notes. */
export const DEBOUNCE_MS = 2 * SECOND
export const DRAIN_MS = 30 * SECOND
export const CLEANUP_MS = 60 * SECOND

export const MAX_RUNNING = 2
export const MAX_SANDBOXES = 4
/** Sessions in one sandbox, where they may share one. */
export const MAX_PACKED = 2
/** Only a guest that may change its user can serve several. */
export const CAN_PACK = process.getuid?.() === 0

export interface Tenant {
  readonly open: number | null
  readonly openPerOwner: number | null
  readonly compute: number | null
  readonly computePerOwner: number | null
  /** The longest that its sessions may ask for. */
  readonly ceilings: { readonly idleMs?: number; readonly leaseMs?: number; readonly lifetimeMs?: number; readonly retentionMs?: number }
}

export const TENANTS = {
  main: { open: 5, openPerOwner: 4, compute: 3, computePerOwner: 2, ceilings: {} },
  other: {
    ...{ open: null, openPerOwner: null, compute: null, computePerOwner: null },
    ceilings: { idleMs: 61 * SECOND, leaseMs: 127 * SECOND, lifetimeMs: 503 * SECOND, retentionMs: 701 * SECOND },
  },
} as const satisfies Record<string, Tenant>
export type TenantName = keyof typeof TENANTS

/** Who may own sessions. */
export const OWNERS = { alice: 'main', bob: 'main', carol: 'other' } as const satisfies Record<string, TenantName>
export type Owner = keyof typeof OWNERS
export const OWNER_NAMES = ['alice', 'bob', 'carol'] as const

/** What sessions may be asked to be. `plain` leaves everything to the server. */
export const WISHES = {
  plain: {},
  small: { limits: { pids: 50 } },
  large: { limits: { pids: 90 }, network: 'on' },
} as const
export type WishName = keyof typeof WISHES

/** What the server makes of `plain`. */
export const SERVER_PIDS = 128

/** Deadlines that a session may ask for. */
export const TERMS = {
  usual: {},
  leased: { leaseMs: 151 * SECOND },
  mortal: { lifetimeMs: 401 * SECOND },
  bound: { leaseMs: 151 * SECOND, lifetimeMs: 401 * SECOND, idleMs: 199 * SECOND },
  releasing: { onIdle: 'release' },
} as const
export type TermName = keyof typeof TERMS
