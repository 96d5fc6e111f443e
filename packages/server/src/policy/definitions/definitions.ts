/**
 * Definitions that a tenant stores: profiles, or pipelines. Each change is on a version, within the tenant's quota, and in its audit.
 *
 * Who may change them is decided by the caller of this module. Lock order: the tenant first, then the definition.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { z } from 'zod'
import type { AuditRecord } from '../../sessions/audit/audit-record.ts'
import { appendTenantAudit } from '../../sessions/audit/tenant-audit.ts'
import { limitsOf } from '../../sessions/quotas.ts'
import type { QuotaLimits } from '../../sessions/quotas.ts'
import type { Store, Transaction } from '../../store/store.ts'
import {
  countDefinitions,
  deleteDefinition,
  findDefinition,
  insertDefinition,
  listDefinitions,
  updateDefinition,
} from '../../store/tables/definitions.ts'
import type { DefinitionKind, DefinitionRow } from '../../store/tables/definitions.ts'
import { lockTenant } from '../../store/tables/tenants.ts'
import type { DefinitionCache } from './definition-cache.ts'

export interface Definition<T> extends Omit<DefinitionRow, 'settings' | 'kind' | 'profile'> {
  readonly settings: T
}

/** Who makes a change, for the audit. */
export type ChangedBy = Pick<AuditRecord, 'actor' | 'onBehalfOf' | 'requestId'>

export interface NamedDefinition {
  readonly tenantId: string
  readonly name: string
}

export interface Definitions<T> {
  /** As it is; on other servers' changes up to a second old. `null`: there is none. */
  recall(named: NamedDefinition): Promise<Definition<T> | null>
  get(named: NamedDefinition): Promise<Definition<T> | null>
  /** In the order of their names, after the given one. */
  list(tenantId: string, afterName: string, limit: number): Promise<readonly Definition<T>[]>
  /** Throws `name_taken` and `quota_exceeded`. `check` runs in the transaction, with the tenant locked. */
  create(named: NamedDefinition, settings: T, by: ChangedBy, check?: Check): Promise<Definition<T>>
  /** Throws `not_found` and `version_conflict`. */
  replace(named: NamedDefinition, settings: T, ifVersion: number, by: ChangedBy, check?: CheckChange<T>): Promise<Definition<T>>
  /** The same. */
  remove(named: NamedDefinition, ifVersion: number | undefined, by: ChangedBy, check?: CheckChange<T>): Promise<void>
}

type Check = (transaction: Transaction) => Promise<void> | void
type CheckChange<T> = (before: Definition<T>, transaction: Transaction) => Promise<void> | void

export interface DefinitionsNeeds<S extends z.ZodType> {
  readonly store: Store
  readonly cache: DefinitionCache
  readonly clock: () => number
  readonly kind: DefinitionKind
  readonly schema: S
  /** The profile that the settings of a pipeline name. */
  profileOf?(settings: z.output<S>): string | undefined
  /** Where a tenant has no quota of its own. */
  readonly quotas: QuotaLimits
}

export function createDefinitions<S extends z.ZodType>(needs: DefinitionsNeeds<S>): Definitions<z.output<S>> {
  const { store, cache, clock, kind, schema, quotas } = needs
  type T = z.output<S>

  function opened({ settings, kind: _kind, profile: _profile, ...row }: DefinitionRow): Definition<T> {
    const parsed = schema.safeParse(JSON.parse(settings))
    if (parsed.success) return { ...row, settings: parsed.data }
    throw new HoldfastError('store_corrupt', `the ${kind} ${row.name} of ${row.tenantId} cannot be read`, {}, { cause: parsed.error })
  }

  async function find({ tenantId, name }: NamedDefinition): Promise<Definition<T> | null> {
    const row = await store.read((sql) => findDefinition(sql, tenantId, kind, name))
    return row === null ? null : opened(row)
  }

  async function lockActive(transaction: Transaction, tenantId: string) {
    const tenant = await lockTenant(transaction, tenantId)
    if (tenant === null) throw new HoldfastError('not_found', `there is no tenant ${tenantId}`)
    return tenant
  }

  async function audit(
    transaction: Transaction,
    { tenantId, name }: NamedDefinition,
    verb: string,
    by: ChangedBy,
    versions: Pick<AuditRecord, 'before' | 'after'>,
  ): Promise<void> {
    const resource = { type: kind, id: name }
    const record = { ...by, action: `${kind}.${verb}`, resource, decision: 'allow', outcome: 'success', ...versions } as const
    await appendTenantAudit(transaction, tenantId, record, clock())
    transaction.afterCommit(cache.clear)
  }

  /** `after`: what it becomes; `null` removes it. */
  async function change(
    named: NamedDefinition,
    ifVersion: number | undefined,
    by: ChangedBy,
    check: CheckChange<T> | undefined,
    after: (before: DefinitionRow) => DefinitionRow | null,
  ): Promise<DefinitionRow | null> {
    return store.write(async (transaction) => {
      await lockActive(transaction, named.tenantId)
      const before = await findDefinition(transaction, named.tenantId, kind, named.name)
      if (before === null) throw new HoldfastError('not_found', `there is no stored ${kind} '${named.name}'`, { [kind]: named.name })
      if (ifVersion !== undefined && before.version !== ifVersion)
        throw new HoldfastError('version_conflict', `the ${kind} '${named.name}' is at version ${before.version} now`, {
          version: before.version,
        })
      await check?.(opened(before), transaction)
      const next = after(before)
      const isDone = await (next === null ? deleteDefinition(transaction, before) : updateDefinition(transaction, before, next))
      if (!isDone) throw new HoldfastError('internal', `the ${kind} ${named.name} changed under the lock of its tenant`)
      const versions = { before: { version: before.version }, ...(next === null ? {} : { after: { version: next.version } }) }
      await audit(transaction, named, next === null ? 'remove' : 'update', by, versions)
      return next
    }, 'power')
  }

  const profileOf = (settings: T) => needs.profileOf?.(settings) ?? null

  return {
    recall: (named) => cache.recall(JSON.stringify([kind, named.tenantId, named.name]), () => find(named)),
    get: find,
    list: async (tenantId, afterName, limit) =>
      (await store.read((sql) => listDefinitions(sql, tenantId, kind, afterName, limit))).map(opened),
    async create(named, settings, by, check) {
      const { tenantId, name } = named
      const now = clock()
      const times = { version: 1, createdAt: now, updatedAt: now }
      const row: DefinitionRow = { tenantId, name, kind, settings: JSON.stringify(settings), profile: profileOf(settings), ...times }
      await store.write(async (transaction) => {
        const tenant = await lockActive(transaction, tenantId)
        if (tenant.state !== 'active')
          throw new HoldfastError('forbidden', `the tenant ${tenant.name} is ${tenant.state}; nothing new begins in it`)
        await check?.(transaction)
        const quota = kind === 'profile' ? 'profiles' : 'pipelines'
        const limit = limitsOf(tenant.quotas, quotas)[quota]
        if (!(await insertDefinition(transaction, row)))
          throw new HoldfastError('name_taken', `there is a ${kind} '${name}' already`, { name })
        if (limit !== null && (await countDefinitions(transaction, tenantId, kind)) > limit)
          throw new HoldfastError(
            'quota_exceeded',
            `the limit of ${limit} stored ${quota} of the tenant is reached (quotas.${quota}, or the tenant's own quota)`,
            { quota, setting: `quotas.${quota}`, limit },
          )
        await audit(transaction, named, 'create', by, { after: { version: 1 } })
      }, 'power')
      return opened(row)
    },
    async replace(named, settings, ifVersion, by, check) {
      const row = await change(named, ifVersion, by, check, (before) => ({
        ...before,
        ...{ settings: JSON.stringify(settings), profile: profileOf(settings), version: before.version + 1, updatedAt: clock() },
      }))
      if (row === null) throw new TypeError('what was replaced is not there')
      return opened(row)
    },
    async remove(named, ifVersion, by, check) {
      await change(named, ifVersion, by, check, () => null)
    },
  }
}
