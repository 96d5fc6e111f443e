/**
 * Tenants: made, shaped and ended by a platform administrator, each change on the version it was decided on.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * A tenant that is being terminated begins nothing new, and its sessions are ended by the servers that host them. The default tenant is
 * there from the first start, so that one person on one machine never has to think of tenants.
 */
import { HoldfastError, TenantPolicy } from '@holdfast/protocol'
import type { CreateTenantBody, TenantQuotas } from '@holdfast/protocol'
import { randomId } from '../home/random-id.ts'
import type { AuditRecord } from '../sessions/audit/audit-record.ts'
import { appendTenantAudit } from '../sessions/audit/tenant-audit.ts'
import { SYSTEM } from '../sessions/caller.ts'
import type { Store, Transaction } from '../store/store.ts'
import { findTenant, findTenantByWord, insertTenant, listTenants, lockTenant, updateTenant } from '../store/tables/tenants.ts'
import type { Tenant, TenantChange } from '../store/tables/tenants.ts'
import { authorize, isAuthorized } from './authorize.ts'
import { DEFAULT_TENANT_ID, recordOf } from './principal.ts'
import type { Principal } from './principal.ts'
import { shortMemory } from './short-memory.ts'

const DEFAULT_TENANT_NAME = 'default'
const MEMORY_MS = 5000
const MEMORY_LIMIT = 1000

export interface Tenants {
  create(principal: Principal, wish: CreateTenantBody): Promise<Tenant>
  /** A principal's own tenant, or any for a platform administrator; by its id or its name, as everywhere here. */
  get(principal: Principal, idOrName: string): Promise<Tenant>
  /** In the order of their names, after the given one. */
  list(principal: Principal, afterName: string, limit: number): Promise<readonly Tenant[]>
  /** `version_conflict` unless `version` is the tenant's own; so for each change. */
  setPolicy(principal: Principal, idOrName: string, version: number, policy: TenantPolicy): Promise<Tenant>
  setQuotas(principal: Principal, idOrName: string, version: number, quotas: TenantQuotas): Promise<Tenant>
  /** There is no way back. Terminating again changes nothing and answers the same. */
  terminate(principal: Principal, idOrName: string): Promise<Tenant>
  /** At every start, before the first request. */
  ensureDefaultTenant(): Promise<void>
  /** The id of a tenant, by its id or its name; `null`: no such tenant. As old as `policyOf`. */
  idOf(idOrName: string): Promise<string | null>
  /** What decides about a request; may be some seconds old when another server changed it. `null`: no such tenant. */
  policyOf(id: string): Promise<TenantPolicy | null>
  /** The id of a tenant, by its id or its name; `null` for one that is not there or is being terminated. As old as `policyOf`. */
  activeTenant(idOrName: string): Promise<string | null>
}

export interface TenantsNeeds {
  readonly store: Store
  readonly clock: () => number
}

export function createTenants({ store, clock }: TenantsNeeds): Tenants {
  /** By id and by name, which never are the same. */
  const memory = shortMemory<Tenant>({ clock, lifeMs: MEMORY_MS, limit: MEMORY_LIMIT })
  const recall = (idOrName: string) => memory.recall(idOrName, () => store.read((sql) => findTenantByWord(sql, idOrName)))

  /** `decide` sees the tenant locked, and gives its change or `null` for none. */
  async function change(
    principal: Principal,
    idOrName: string,
    action: string,
    decide: (tenant: Tenant) => TenantChange | null,
  ): Promise<Tenant> {
    authorize(principal, 'manage-tenants')
    const id = (await store.read((sql) => findTenantByWord(sql, idOrName)))?.id ?? missing(idOrName)
    return store.write(async (transaction) => {
      const before = (await lockTenant(transaction, id)) ?? missing(id)
      const wish = decide(before)
      if (wish === null) return before
      const after = await updateTenant(transaction, before, wish)
      if (after === null) throw conflict(before)
      await appendTenantAudit(
        transaction,
        id,
        recordOf(principal, { action, resource: { type: 'tenant', id }, before: audited(before), after: audited(after) }),
        clock(),
      )
      transaction.afterCommit(() => {
        memory.forget(id)
        memory.forget(before.name)
      })
      return after
    }, 'power')
  }

  return {
    async create(principal, wish) {
      authorize(principal, 'manage-tenants')
      const tenant: Tenant = { id: randomId('tnt'), state: 'active', version: 1, createdAt: clock(), ...wish }
      const record = recordOf(principal, { action: 'tenant.create', resource: { type: 'tenant', id: tenant.id }, after: audited(tenant) })
      if (!(await store.write((transaction) => insertWithRecord(transaction, tenant, record), 'power')))
        throw new HoldfastError('name_taken', `there is a tenant ${wish.name} already`, { name: wish.name })
      return tenant
    },

    async get(principal, idOrName) {
      const tenant = await store.read((sql) => findTenantByWord(sql, idOrName))
      if (tenant !== null && (tenant.id === principal.tenantId || isAuthorized(principal, 'manage-tenants'))) return tenant
      return missing(idOrName)
    },

    async list(principal, afterName, limit) {
      authorize(principal, 'manage-tenants')
      return store.read((sql) => listTenants(sql, afterName, limit))
    },

    setPolicy: (principal, id, version, policy) =>
      change(principal, id, 'tenant.set-policy', (tenant) => {
        if (tenant.version !== version) throw conflict(tenant)
        return { policy }
      }),

    setQuotas: (principal, id, version, quotas) =>
      change(principal, id, 'tenant.set-quotas', (tenant) => {
        if (tenant.version !== version) throw conflict(tenant)
        return { quotas }
      }),

    async terminate(principal, id) {
      if (id === DEFAULT_TENANT_ID || id === DEFAULT_TENANT_NAME)
        throw new HoldfastError('forbidden', 'the default tenant cannot be terminated')
      return change(principal, id, 'tenant.terminate', (tenant) => (tenant.state === 'active' ? { state: 'terminating' } : null))
    },

    async ensureDefaultTenant() {
      if ((await store.read((sql) => findTenant(sql, DEFAULT_TENANT_ID))) !== null) return
      const policy = TenantPolicy.parse({})
      const tenant: Tenant = {
        ...{ id: DEFAULT_TENANT_ID, name: DEFAULT_TENANT_NAME, state: 'active', policy, quotas: {}, version: 1, createdAt: clock() },
      }
      const resource = { type: 'tenant', id: tenant.id }
      const record: AuditRecord = {
        ...{ action: 'tenant.create', actor: SYSTEM, resource, decision: 'allow', outcome: 'success', after: audited(tenant) },
      }
      await store.write((transaction) => insertWithRecord(transaction, tenant, record), 'power')
    },

    idOf: async (idOrName) => (await recall(idOrName))?.id ?? null,

    async policyOf(id) {
      const tenant = await recall(id)
      return tenant?.id === id ? tenant.policy : null
    },

    async activeTenant(idOrName) {
      const tenant = await recall(idOrName)
      return tenant?.state === 'active' ? tenant.id : null
    },
  }
}

/** `false`, and no record, when the tenant is there already. */
async function insertWithRecord(transaction: Transaction, tenant: Tenant, record: AuditRecord): Promise<boolean> {
  if (!(await insertTenant(transaction, tenant))) return false
  await appendTenantAudit(transaction, tenant.id, record, tenant.createdAt)
  return true
}

function audited({ state, version }: Tenant) {
  return { state, version }
}

function missing(id: string): never {
  throw new HoldfastError('not_found', `there is no tenant ${id}`)
}

function conflict({ id, version }: Tenant): HoldfastError {
  return new HoldfastError('version_conflict', `the tenant ${id} is at version ${version} now`, { version })
}
