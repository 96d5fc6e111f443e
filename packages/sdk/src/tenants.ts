/**
 * Tenants: made, shaped and ended by a platform administrator.
 */
import type { TenantView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { createList } from './lists.ts'
import type { List, PagingOptions } from './lists.ts'
import { ifMatch } from './session.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

/** The longest each deadline may be set to. */
export interface DeadlineCeilings {
  readonly idleSeconds?: number | undefined
  readonly leaseSeconds?: number | undefined
  readonly lifetimeSeconds?: number | undefined
  readonly retentionSeconds?: number | undefined
}

/** Everything left out is what is safest. */
export interface TenantPolicy {
  /** Whether administrators may run commands in, and read files and output of, sessions that others own. */
  readonly adminExec?: boolean | undefined
  /** Which packing profiles a request may name. */
  readonly packing?: { readonly profiles: readonly string[] } | undefined
  readonly ceilings?: DeadlineCeilings | undefined
}

/** `null` lifts a limit; one left out is the server's default. */
export interface TenantQuotas {
  readonly openSessions?: number | null | undefined
  readonly openSessionsPerOwner?: number | null | undefined
  readonly computeSessions?: number | null | undefined
  readonly computeSessionsPerOwner?: number | null | undefined
  /** Stored for the tenant. */
  readonly profiles?: number | null | undefined
  readonly pipelines?: number | null | undefined
  /** Execution records with their output; above it the oldest are removed. */
  readonly keptOutputBytes?: number | null | undefined
  /** Above it the oldest are removed. */
  readonly keptEvents?: number | null | undefined
  /** Answers kept for Idempotency-Keys; above it requests with a new key are refused. */
  readonly keptAnswerBytes?: number | null | undefined
}

export interface TenantRecord {
  readonly id: string
  readonly name: string
  /** `terminating`: nothing new begins, and its sessions are being ended; `terminated`: the last of them has ended. */
  readonly state: 'active' | 'terminating' | 'terminated'
  readonly policy: TenantPolicy
  readonly quotas: TenantQuotas
  readonly version: number
  readonly createdAt: string
}

export interface Tenants {
  create(
    options: CallOptions & {
      readonly name: string
      readonly policy?: TenantPolicy | undefined
      readonly quotas?: TenantQuotas | undefined
    },
  ): Promise<TenantRecord>
  /** In the order of their names. */
  list(options?: PagingOptions): List<TenantRecord>
  get(id: string, options?: CallOptions): Promise<TenantRecord>
  /** Replaces it, if the tenant still has this version. */
  setPolicy(id: string, policy: TenantPolicy, options: CallOptions & { readonly ifVersion: number }): Promise<TenantRecord>
  setQuotas(id: string, quotas: TenantQuotas, options: CallOptions & { readonly ifVersion: number }): Promise<TenantRecord>
  /** Lets nothing new begin in it; there is no way back. */
  terminate(id: string, options?: CallOptions): Promise<TenantRecord>
}

export function createTenants(transport: Transport): Tenants {
  const pathOf = (id: string) => `/v1/tenants/${encodeURIComponent(id)}`
  const told = async (asking: Promise<TenantView>) => tenantRecord(await asking)
  return {
    create: ({ name, policy = {}, quotas = {}, ...options }) => {
      const json = { name, policy: policyBody(policy), quotas: snake(quotas) }
      return told(transport.json({ method: 'POST', path: '/v1/tenants', json, ...callOf(options) }))
    },
    list: (options = {}) => createList(transport, { path: '/v1/tenants' }, options, tenantRecord),
    get: (id, options = {}) => told(transport.json({ path: pathOf(id), ...callOf(options) })),
    setPolicy: (id, policy, { ifVersion, ...options }) => {
      const request = { method: 'PUT', path: `${pathOf(id)}/policy`, headers: ifMatch(ifVersion) } as const
      return told(transport.json({ ...request, json: policyBody(policy), ...callOf(options) }))
    },
    setQuotas: (id, quotas, { ifVersion, ...options }) => {
      const request = { method: 'PUT', path: `${pathOf(id)}/quotas`, headers: ifMatch(ifVersion) } as const
      return told(transport.json({ ...request, json: snake(quotas), ...callOf(options) }))
    },
    terminate: (id, options = {}) =>
      told(transport.json({ method: 'POST', path: `${pathOf(id)}/terminate`, json: {}, ...callOf(options) })),
  }
}

function policyBody({ adminExec, packing, ceilings }: TenantPolicy) {
  return { ...snake({ adminExec, packing }), ...(ceilings === undefined ? {} : { ceilings: snake(ceilings) }) }
}

function tenantRecord(wire: TenantView): TenantRecord {
  return {
    ...camel(wire),
    policy: { ...camel(wire.policy), ceilings: camel(wire.policy.ceilings) },
    quotas: camel(wire.quotas),
  }
}
