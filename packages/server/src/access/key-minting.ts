/**
 * Which keys an administrator may not make: those that open the work of others, unless the tenant's policy says `admin_exec`.
 *
 * A key is as good as the work of its subject, of its groups and of the users it speaks for. So one for somebody who has work or a key, or will
 * have it through a service key or the identity provider, is made by a platform administrator. Why: docs/adr/0024-identity.md
 */
import { ADMIN_SUBJECT, HoldfastError, OIDC_SUBJECTS, USER_SEPARATOR } from '@holdfast/protocol'
import type { TenantPolicy } from '@holdfast/protocol'
import type { Sql } from '../store/store.ts'
import { isInUse, ownsSessions, serviceKeys } from '../store/tables/api-keys.ts'
import type { ApiKey } from '../store/tables/api-keys.ts'
import { covers } from './key-users.ts'
import { BOX_SUBJECTS } from './principal.ts'
import type { Principal } from './principal.ts'
import { reachOf } from './roles.ts'

/** Throws `forbidden`. */
export async function checkMinting(
  sql: Sql,
  principal: Principal,
  policy: Pick<TenantPolicy, 'admin_exec'>,
  { subject, groups, users, createdAt: now }: Pick<ApiKey, 'subject' | 'groups' | 'users' | 'createdAt'>,
): Promise<void> {
  const { tenantId, role } = principal
  if (subject === ADMIN_SUBJECT && role !== 'platform_admin') throw refused(`${JSON.stringify(subject)} is the platform administrator`)
  if (reachOf(role, 'make-keys-to-work', policy) === 'tenant') return
  const service = await serviceKeys(sql, tenantId)
  const isTaken = async (name: string) =>
    isProvided(name) ||
    service.some((key) => key.users !== null && !('any' in key.users) && covers({ subject: key.subject, users: key.users }, name)) ||
    (await isInUse(sql, tenantId, { name }, now))

  if (subject !== principal.subject && (await isTaken(subject))) throw refused(`${JSON.stringify(subject)} has work or keys already`)
  for (const group of groups) {
    if (principal.groups.includes(group)) continue
    if (isProvided(group) || (await ownsSessions(sql, tenantId, group))) throw refused(`the group ${JSON.stringify(group)} owns sessions`)
  }
  if (users === null || 'any' in users) return
  const prefix = 'own' in users ? `${subject}${USER_SEPARATOR}` : 'prefix' in users ? users.prefix : null
  if (prefix !== null && (await isInUse(sql, tenantId, { prefix }, now)))
    throw refused(`users whose names begin with ${JSON.stringify(prefix)} have work or keys already`)
  for (const name of 'list' in users ? users.list : [])
    if (await isTaken(name)) throw refused(`${JSON.stringify(name)} has work or keys already`)
}

/** Names that others give: they have work here without a key. */
function isProvided(name: string): boolean {
  return name.startsWith(OIDC_SUBJECTS) || name.startsWith(BOX_SUBJECTS)
}

function refused(reason: string): HoldfastError {
  return new HoldfastError('forbidden', `this key would open the work of others: ${reason}; a platform administrator can make it`, {
    verb: 'make-keys-to-work',
  })
}
