/**
 * What a verified token says → who that is here.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * Names from a token live in a namespace of their own: `oidc:` stands before the subject and before each group. So nobody at the identity
 * provider becomes the owner of what an API key made, or a member of a group that keys were given, by having the same name. Where that is
 * wanted, a key is made for `oidc:…`.
 */
import { Groups, OIDC_SUBJECTS, Subject } from '@holdfast/protocol'
import type { Role } from '@holdfast/protocol'
import type { JWTPayload } from 'jose'
import { refusal } from '../refusal.ts'
import { outranks } from '../roles.ts'
import type { RefusalReason } from '../refusal.ts'

const NAMESPACE = OIDC_SUBJECTS

export interface ClaimRules {
  readonly subjectClaim: string
  readonly groupsClaim: string | null
  readonly roleClaim: string | null
  /** Values of the role claim, each with what it makes of its bearer. */
  readonly roles: Readonly<Record<string, Role>>
  /** Of those whom no value makes anything; `null`: they are refused. */
  readonly defaultRole: Role | null
  /** Left out, everybody is in `tenant`. */
  readonly tenantClaim: string | null
  /** Id or name. */
  readonly tenant: string
}

export interface Bearer {
  readonly subject: string
  readonly groups: readonly string[]
  readonly role: Role
  /** Id or name. */
  readonly tenant: string
}

export function bearerOf(claims: JWTPayload, rules: ClaimRules): Bearer {
  const { subjectClaim, groupsClaim, roleClaim, tenantClaim } = rules
  const subject = claimOf(claims, subjectClaim)
  if (typeof subject !== 'string' || subject === '') throw bad('token-subject')
  const named = Subject.safeParse(`${NAMESPACE}${subject}`)
  if (!named.success) throw bad('token-subject')

  const groups = groupsClaim === null ? [] : texts(claimOf(claims, groupsClaim), 'token-groups')
  const grouped = Groups.safeParse(groups.map((group) => `${NAMESPACE}${group}`))
  if (!grouped.success) throw bad('token-groups')

  const tenant = tenantClaim === null ? rules.tenant : claimOf(claims, tenantClaim)
  if (typeof tenant !== 'string' || tenant === '') throw bad('token-tenant')

  const role = roleOf(roleClaim === null ? [] : texts(claimOf(claims, roleClaim), 'token-role'), rules)
  if (role === null) throw bad('token-role')
  return { subject: named.data, groups: grouped.data, role, tenant }
}

/** The most powerful of what the values make. */
function roleOf(values: readonly string[], { roles, defaultRole }: ClaimRules): Role | null {
  const made = values.flatMap((value) => (Object.hasOwn(roles, value) ? [roles[value]] : [])).filter((role) => role !== undefined)
  const [first, ...others] = made
  return first === undefined ? defaultRole : others.reduce((best, role) => (outranks(role, best) ? role : best), first)
}

/** By its whole name, which may have dots in it, or else step by step: `realm_access.roles`. */
function claimOf(claims: JWTPayload, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = Object.getOwnPropertyDescriptor(value, step)?.value
  }
  return value
}

/** One text, a list of them, or none at all. */
function texts(value: unknown, reason: RefusalReason): readonly string[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string' && item !== '')) throw bad(reason)
  return value
}

function bad(reason: RefusalReason) {
  return refusal('the token is not valid', reason)
}
