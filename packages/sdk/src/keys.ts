/**
 * API keys of a tenant. A key is shown once, in the answer to its creation.
 */
import type { CreatedKeyView, KeyView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { createList } from './lists.ts'
import type { List, PagingOptions } from './lists.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

/** From the least power to the most. */
export type Role = 'viewer' | 'member' | 'operator' | 'tenant_admin' | 'platform_admin'

/** Users below the key's own name, a list of subjects, or all whose names begin alike. */
export type KeyUsers = { readonly own: true } | { readonly list: readonly string[] } | { readonly prefix: string }

export interface KeyRecord {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  /** `service`: may also speak for the users of the program that holds it. */
  readonly kind: 'user' | 'service'
  readonly subject: string
  readonly role: Role
  readonly groups: readonly string[]
  /** Whom a service key speaks for; `null` for a user key. `any`: a key that is older than this rule. */
  readonly users: KeyUsers | { readonly any: true } | null
  readonly createdAt: string
  readonly createdBy: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

export interface CreatedKey extends KeyRecord {
  readonly key: string
}

export interface CreateKeyOptions extends CallOptions {
  /** For people who look at the list of keys. */
  readonly name: string
  /** Who it speaks for. */
  readonly subject: string
  readonly kind?: 'user' | 'service' | undefined
  readonly role?: Role | undefined
  readonly groups?: readonly string[] | undefined
  /** Of a service key; users below its own name (`subject/user`) if left out. */
  readonly users?: KeyUsers | undefined
  /** Left out: it is good until it is revoked. */
  readonly expiresInSeconds?: number | undefined
}

export interface Keys {
  create(options: CreateKeyOptions): Promise<CreatedKey>
  /** Oldest first. */
  list(options?: PagingOptions): List<KeyRecord>
  /** Its record stays. */
  revoke(id: string, options?: CallOptions): Promise<KeyRecord>
}

export function createKeys(transport: Transport): Keys {
  const path = '/v1/keys'
  return {
    async create({ name, subject, kind, role, groups, users, expiresInSeconds, ...options }) {
      const json = snake({ name, subject, kind, role, groups, users, expiresInSeconds })
      return camel(await transport.json<CreatedKeyView>({ method: 'POST', path, json, ...callOf(options) }))
    },
    list: (options = {}) => createList(transport, { path }, options, keyRecord),
    revoke: async (id, options = {}) =>
      keyRecord(await transport.json<KeyView>({ method: 'DELETE', path: `${path}/${encodeURIComponent(id)}`, ...callOf(options) })),
  }
}

function keyRecord(wire: KeyView): KeyRecord {
  return camel(wire)
}
