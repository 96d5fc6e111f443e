/**
 * API keys: made, listed, revoked, and found by what a request carries.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * A key is handed out once and kept as a hash. Nobody makes or revokes a key with more power than its own. A revocation in this
 * process counts from the moment it is acknowledged; another server on the same database follows within `MEMORY_MS`.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { CreateKeyBody } from '@holdfast/protocol'
import { randomId } from '../home/random-id.ts'
import { appendTenantAudit } from '../sessions/audit/tenant-audit.ts'
import type { Store, Transaction } from '../store/store.ts'
import { findKey, findKeyByHash, findKeyById, insertKey, listKeys, revokeKey } from '../store/tables/api-keys.ts'
import type { ApiKey, KeyPosition } from '../store/tables/api-keys.ts'
import { lockTenant } from '../store/tables/tenants.ts'
import { authorize } from './authorize.ts'
import { checkMinting } from './key-minting.ts'
import { hashKey, isSameHash, looksLikeKey, newKey } from './key-secret.ts'
import { recordOf } from './principal.ts'
import type { Principal } from './principal.ts'
import { outranks } from './roles.ts'
import { shortMemory } from './short-memory.ts'

const MEMORY_MS = 5000
const MEMORY_LIMIT = 1000

export type KeyRecord = Omit<ApiKey, 'hash'>

export interface Keys {
  /** `key` is shown here and never again. */
  create(principal: Principal, wish: CreateKeyBody): Promise<{ readonly key: string; readonly record: KeyRecord }>
  /** The keys of the principal's tenant, oldest first. */
  list(principal: Principal, after: KeyPosition | null, limit: number): Promise<readonly KeyRecord[]>
  /** Revoking again changes nothing and answers the same. */
  revoke(principal: Principal, id: string): Promise<KeyRecord>
  /** The record of a key that is good now; `null` for one that is unknown, revoked or expired. */
  find(key: string): Promise<KeyRecord | null>
  /** The same by the id of the key, for what was allowed to its holder and is used later. */
  findById(id: string): Promise<KeyRecord | null>
}

export interface KeysNeeds {
  readonly store: Store
  readonly clock: () => number
}

export function createKeys({ store, clock }: KeysNeeds): Keys {
  /** By hash and by id, which never are the same. */
  const memory = shortMemory<ApiKey>({ clock, lifeMs: MEMORY_MS, limit: MEMORY_LIMIT })
  return {
    async create(principal, wish) {
      authorize(principal, 'manage-keys')
      if (outranks(wish.role, principal.role))
        throw new HoldfastError('forbidden', `the role ${principal.role} may not make a key with the role ${wish.role}`)
      const { tenantId } = principal
      const [key, now] = [newKey(), clock()]
      const { name, kind, subject, role, groups, expires_in_seconds: seconds } = wish
      const users = kind === 'service' ? (wish.users ?? { own: true }) : null
      const made: ApiKey = {
        ...{ id: randomId('key'), tenantId, hash: hashKey(key), name, kind, subject, role, groups, users },
        ...{
          createdAt: now,
          createdBy: principal.subject,
          expiresAt: seconds === undefined ? null : now + seconds * 1000,
          revokedAt: null,
        },
      }
      const insert = async (transaction: Transaction) => {
        const tenant = await lockTenant(transaction, tenantId)
        if (tenant === null) throw new HoldfastError('not_found', `there is no tenant ${tenantId}`)
        if (tenant.state !== 'active')
          throw new HoldfastError('forbidden', `the tenant ${tenant.name} is ${tenant.state}; it gets no new keys`)
        await checkMinting(transaction, principal, tenant.policy, made)
        await insertKey(transaction, made)
        await appendTenantAudit(transaction, tenantId, recordOf(principal, { action: 'key.create', resource: resourceOf(made) }), now)
      }
      try {
        await store.write(insert, 'power')
      } catch (error) {
        if (isHoldfastError(error, 'forbidden')) await recordDenial(principal, made)
        throw error
      }
      return { key, record: withoutHash(made) }
    },

    async list(principal, after, limit) {
      authorize(principal, 'manage-keys')
      const keys = await store.read((sql) => listKeys(sql, principal.tenantId, after, limit))
      return keys.map(withoutHash)
    },

    async revoke(principal, id) {
      authorize(principal, 'manage-keys')
      const { tenantId } = principal
      const now = clock()
      return store.write(async (transaction) => {
        const key = await findKey(transaction, tenantId, id)
        if (key === null) throw new HoldfastError('not_found', `there is no API key ${id}`)
        if (outranks(key.role, principal.role))
          throw new HoldfastError('forbidden', `the role ${principal.role} may not revoke a key with the role ${key.role}`)
        if (await revokeKey(transaction, tenantId, id, now)) {
          await appendTenantAudit(transaction, tenantId, recordOf(principal, { action: 'key.revoke', resource: resourceOf(key) }), now)
        }
        transaction.afterCommit(() => {
          memory.forget(key.hash)
          memory.forget(id)
        })
        // Read again: another server may have been quicker, and its time stands.
        return withoutHash((await findKey(transaction, tenantId, id)) ?? key)
      }, 'power')
    },

    async find(text) {
      if (!looksLikeKey(text)) return null
      const hash = hashKey(text)
      const key = await memory.recall(hash, () => store.read((sql) => findKeyByHash(sql, hash)))
      if (key === null || !isSameHash(key.hash, hash)) return null
      return isGood(key) ? withoutHash(key) : null
    },

    async findById(id) {
      const key = await memory.recall(id, () => store.read((sql) => findKeyById(sql, id)))
      return key !== null && isGood(key) ? withoutHash(key) : null
    },
  }

  async function recordDenial(principal: Principal, made: ApiKey): Promise<void> {
    const record = {
      ...recordOf(principal, { action: 'key.create', resource: resourceOf(made) }),
      ...({ decision: 'deny', outcome: 'failure', errorCode: 'forbidden' } as const),
    }
    await store.write((transaction) => appendTenantAudit(transaction, principal.tenantId, record, clock()), 'power')
  }

  function isGood({ revokedAt, expiresAt }: ApiKey): boolean {
    return revokedAt === null && (expiresAt === null || expiresAt > clock())
  }
}

function resourceOf({ id, subject }: ApiKey) {
  return { type: 'api_key', id, owner: subject }
}

function withoutHash({ hash: _hash, ...record }: ApiKey): KeyRecord {
  return record
}
