/**
 * Quotas: how many sessions a tenant and an owner may have, and how many of them may hold compute.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Nothing is reserved and nothing given back: what counts is counted from the sessions, in the transaction that adds one,
 * while the tenant's row is locked. So no crash can leak a quota and no race can pass one.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { QuotaName, TenantQuotas } from '@holdfast/protocol'
import type { Transaction } from '../store/store.ts'
import { countSessions, lockTenant } from '../store/tables/tenants.ts'
import type { SessionCounts, Tenant } from '../store/tables/tenants.ts'

/** Every quota with its limit; `null` is none. */
export type QuotaLimits = Readonly<Record<QuotaName, number | null>>

export interface QuotaRequest {
  readonly tenantId: string
  /** Whose session it is, which may be another than who asks. */
  readonly owner: string
  /** A new session that gets compute adds `both`, a resumed one `compute`. */
  readonly adds: 'session' | 'compute' | 'both'
  /** Who is told: `null` sees the whole tenant. Nobody else learns from a refusal how much others use. */
  readonly askedBy: string | null
}

export interface Quotas {
  /**
   * Throws `quota_exceeded`, or `forbidden` for a tenant that is being terminated. Gives the tenant, locked until the transaction
   * ends. Call it before the transaction inserts anything that refers to the tenant: on PostgreSQL such a row already
   * shares the lock, and two transactions that both share it and then want it alone wait for each other.
   */
  check(transaction: Transaction, request: QuotaRequest): Promise<Tenant>
}

interface Rule {
  readonly quota: QuotaName
  /** Sets its default; a tenant's own quota replaces that. */
  readonly setting: string
  readonly counts: 'session' | 'compute'
  readonly isOfTenant: boolean
  readonly used: (counts: SessionCounts) => number
  readonly what: string
}

/** The owner's own limits first: that is the one an owner can do something about. */
const RULES: readonly Rule[] = [
  {
    quota: 'open_sessions_per_owner',
    setting: 'quotas.sessions_per_owner',
    counts: 'session',
    isOfTenant: false,
    used: (counts) => counts.openOfOwner,
    what: 'open sessions of this owner',
  },
  {
    quota: 'compute_sessions_per_owner',
    setting: 'quotas.running_per_owner',
    counts: 'compute',
    isOfTenant: false,
    used: (counts) => counts.computeOfOwner,
    what: 'running sessions of this owner',
  },
  {
    quota: 'open_sessions',
    setting: 'quotas.sessions',
    counts: 'session',
    isOfTenant: true,
    used: (counts) => counts.open,
    what: 'open sessions of the tenant',
  },
  {
    quota: 'compute_sessions',
    setting: 'quotas.running',
    counts: 'compute',
    isOfTenant: true,
    used: (counts) => counts.compute,
    what: 'running sessions of the tenant',
  },
]

export function createQuotas({ defaults }: { readonly defaults: QuotaLimits }): Quotas {
  return {
    async check(transaction, { tenantId, owner, adds, askedBy }) {
      const tenant = await lockTenant(transaction, tenantId)
      if (tenant === null) throw new HoldfastError('not_found', `there is no tenant ${tenantId}`)
      if (tenant.state !== 'active')
        throw new HoldfastError('forbidden', `the tenant ${tenant.name} is ${tenant.state}; nothing new begins in it`)
      const limits = limitsOf(tenant.quotas, defaults)
      const rules = RULES.filter(({ counts }) => adds === 'both' || adds === counts)
      if (rules.every(({ quota }) => limits[quota] === null)) return tenant
      const counts = await countSessions(transaction, tenantId, owner)
      const isTold = (isOfTenant: boolean) => askedBy === null || (!isOfTenant && askedBy === owner)
      for (const { quota, setting, isOfTenant, used, what } of rules) {
        const limit = limits[quota]
        if (limit === null || used(counts) < limit) continue
        throw new HoldfastError('quota_exceeded', `the limit of ${limit} ${what} is reached (${setting}, or the tenant's own quota)`, {
          quota,
          setting,
          limit,
          ...(isTold(isOfTenant) ? { used: used(counts) } : {}),
        })
      }
      return tenant
    },
  }
}

/** What the tenant says, and the default where it says nothing; `null` is a limit lifted, not one left out. */
export function limitsOf(quotas: TenantQuotas, defaults: QuotaLimits): QuotaLimits {
  const limit = (quota: QuotaName) => (quotas[quota] === undefined ? defaults[quota] : quotas[quota])
  return {
    open_sessions: limit('open_sessions'),
    open_sessions_per_owner: limit('open_sessions_per_owner'),
    compute_sessions: limit('compute_sessions'),
    compute_sessions_per_owner: limit('compute_sessions_per_owner'),
    profiles: limit('profiles'),
    pipelines: limit('pipelines'),
    kept_output_bytes: limit('kept_output_bytes'),
    kept_events: limit('kept_events'),
    kept_answer_bytes: limit('kept_answer_bytes'),
  }
}
