/**
 * The one decision point: who a principal is to the sessions, and what it may administer.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * Decides by the table in `roles.ts` and by ownership, and by nothing else. The tenant is part of what is visible, so it stands
 * in every query; what is not visible is not there, and what is visible but not allowed is `forbidden`.
 */
import { HoldfastError, ROLES } from '@holdfast/protocol'
import type { TenantPolicy } from '@holdfast/protocol'
import type { Caller } from '../sessions/caller.ts'
import { actorOf } from './principal.ts'
import type { Principal } from './principal.ts'
import { reachOf } from './roles.ts'
import type { AdminVerb, Reach, Verb } from './roles.ts'

/** What the decision needs of a tenant's policy. */
export type DecidingPolicy = Pick<TenantPolicy, 'admin_exec'>

export function callerOf(principal: Principal, policy: DecidingPolicy): Caller {
  const { tenantId, subject, groups, role } = principal
  const decide = (verb: Verb, isOwn: boolean) => {
    const reach = reachOf(role, verb, policy)
    return reach === 'tenant' || (reach === 'own' && isOwn)
  }
  const isOwnGroup = (group: string | null) => group !== null && groups.includes(group)
  return {
    actor: actorOf(principal),
    visibility: { tenantId, owner: reachOf(role, 'list', policy) === 'tenant' ? null : subject, groups },
    owner: subject,
    // A group sees what its sessions do: to put another owner's session into one is to look into that owner's work.
    mayCreate: (owner, ownerGroup) =>
      decide('create', owner === subject && (ownerGroup === null || isOwnGroup(ownerGroup))) &&
      (owner === subject || ownerGroup === null || decide('transfer-now', false)),
    may: (verb, session) => decide(verb, session.owner === subject || isOwnGroup(session.ownerGroup)),
  }
}

/** Throws `forbidden`, or gives how far the principal reaches with the verb in the tenant of its request. */
export function authorize(principal: Principal, verb: AdminVerb): 'own' | 'tenant' {
  const reach = administrativeReach(principal, verb)
  if (reach === 'never') {
    const able = ROLES.filter((role) => administrativeReach({ role }, verb) !== 'never')
    const hint = `Use a key with the role ${able.join(' or ')}.`
    throw new HoldfastError('forbidden', `the role ${principal.role} may not ${verb.replaceAll('-', ' ')}`, { verb }, { hint })
  }
  return reach
}

/** The same as a question, where a refusal must not show. */
export function isAuthorized(principal: Principal, verb: AdminVerb): boolean {
  return administrativeReach(principal, verb) !== 'never'
}

/** No verb of administration asks the tenant's policy. */
function administrativeReach({ role }: Pick<Principal, 'role'>, verb: AdminVerb): Reach {
  return reachOf(role, verb, { admin_exec: false })
}
