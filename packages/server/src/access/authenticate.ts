/**
 * Credentials of one request → who it comes from, or `unauthorized`.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * The tenant is the key's own; only a platform administrator may name another. A refusal never says whether a key was unknown,
 * revoked or expired, nor whether a tenant that may not be named exists.
 */
import { ADMIN_SUBJECT, fieldProblems, Groups, HoldfastError, problemSentence, Subject } from '@holdfast/protocol'
import type { GivenKeyUsers } from '@holdfast/protocol'
import { z } from 'zod'
import type { AdminKey } from './admin-key.ts'
import { isAuthorized } from './authorize.ts'
import { groupFor, subjectFor, usersInWords } from './key-users.ts'
import type { KeyRecord, Keys } from './keys.ts'
import { ADMIN_KEY_ID, DEFAULT_TENANT_ID } from './principal.ts'
import type { Principal } from './principal.ts'
import { refusal } from './refusal.ts'
import { outranks } from './roles.ts'
import type { Tenants } from './tenants.ts'

export interface Credentials {
  readonly authorization: string | undefined
  readonly apiKey: string | undefined
}

/** What a door read from a request, in clear text. An empty value is a mistake, never the same as none. */
export interface RequestCredentials extends Credentials {
  /** Whom a service key speaks for. */
  readonly onBehalfOf?: string | undefined
  /** The groups of that user, with commas between them. Split only for a service key: anybody may send the header. */
  readonly onBehalfOfGroups?: string | undefined
  /** The id or the name of the tenant that a platform administrator means. */
  readonly tenant?: string | undefined
  /** Where the request comes from. */
  readonly address?: string | undefined
}

export interface AuthenticatorNeeds {
  /** `null`: everybody is the administrator, which the composition root allows on loopback only. */
  readonly adminKey: Pick<AdminKey, 'matches'> | null
  readonly keys: Pick<Keys, 'find'>
  readonly tenants: Pick<Tenants, 'idOf'>
  /** Believes the tokens of an identity provider; left out, there is none. */
  readonly verifyToken?: VerifyToken | null
}

/** Who a token speaks for. Throws `unauthorized`, or `identity_provider_unavailable` when that cannot be known now. */
export type VerifyToken = (token: string) => Promise<Principal>

export type AuthenticateRequest = (credentials: RequestCredentials) => Promise<Principal>

const OnBehalfOf = z.object({ on_behalf_of: Subject, on_behalf_of_groups: Groups.default([]) })

/** The administrator of the whole installation: a program's key rather than a person's, so it may speak for others. */
const ADMIN: Omit<Principal, 'keyId'> = {
  ...{ tenantId: DEFAULT_TENANT_ID, subject: ADMIN_SUBJECT, groups: [], role: 'platform_admin', kind: 'service', onBehalfOf: null },
}

/** A principal, and for whom it may speak: `null` for nobody. */
interface Holder {
  readonly principal: Principal
  readonly users: GivenKeyUsers | null
}

export function createAuthenticator({ adminKey, keys, tenants, verifyToken = null }: AuthenticatorNeeds): AuthenticateRequest {
  async function holderOf(credentials: Credentials): Promise<Holder> {
    if (adminKey === null) return { principal: { ...ADMIN, keyId: null }, users: { any: true } }
    const candidate = candidateOf(credentials)
    if (candidate === undefined) throw refusal('this address needs an API key and the request has none', 'no-credentials')
    if (adminKey.matches(candidate)) return { principal: { ...ADMIN, keyId: ADMIN_KEY_ID }, users: { any: true } }
    if (verifyToken !== null && credentials.apiKey === undefined && isToken(candidate))
      return { principal: await verifyToken(candidate), users: null }
    const key = await keys.find(candidate)
    if (key === null) throw refusal('the API key is not valid', 'key-not-valid')
    return { principal: principalOf(key), users: key.users }
  }

  async function inTenant(principal: Principal, idOrName: string | undefined): Promise<Principal> {
    if (idOrName === undefined || idOrName === principal.tenantId) return principal
    const tenantId = await tenants.idOf(idOrName)
    if (tenantId === principal.tenantId) return principal
    if (!isAuthorized(principal, 'manage-tenants'))
      throw new HoldfastError('forbidden', 'this key may not name another tenant than its own')
    if (tenantId === null) throw new HoldfastError('not_found', `there is no tenant ${idOrName}`)
    return { ...principal, tenantId }
  }

  return async (credentials) => {
    const { principal, users } = await holderOf(credentials)
    return speakingFor({ principal: await inTenant(principal, credentials.tenant), users }, credentials)
  }
}

function principalOf({ id, tenantId, subject, groups, role, kind }: KeyRecord): Principal {
  return { tenantId, subject, groups, role, kind, keyId: id, onBehalfOf: null }
}

/** Speaking for a user, a key has at most a member's power, whatever it has for itself. */
function speakingFor({ principal: holder, users }: Holder, { onBehalfOf, onBehalfOfGroups }: RequestCredentials): Principal {
  if (onBehalfOf === undefined && onBehalfOfGroups === undefined) return holder
  if (users === null) throw new HoldfastError('forbidden', 'only a service key may act on behalf of somebody')
  const groupNames = onBehalfOfGroups?.split(',').map((group) => group.trim())
  const parsed = OnBehalfOf.safeParse({ on_behalf_of: onBehalfOf, on_behalf_of_groups: groupNames })
  if (!parsed.success) throw new HoldfastError('invalid_request', problemSentence(fieldProblems(parsed.error)))
  const { on_behalf_of: user, on_behalf_of_groups: named } = parsed.data
  const speaker = { subject: holder.subject, groups: holder.groups, users }
  const refuse = (name: string): never => {
    throw new HoldfastError(
      'forbidden',
      `this key may not act on behalf of ${JSON.stringify(name)}: it speaks for ${usersInWords(speaker)}`,
    )
  }
  const subject = subjectFor(speaker, user) ?? refuse(user)
  const groups = named.map((group) => groupFor(speaker, group) ?? refuse(group))
  const whole = OnBehalfOf.safeParse({ on_behalf_of: subject, on_behalf_of_groups: groups })
  if (!whole.success)
    throw new HoldfastError('invalid_request', `with the name of the key before it, ${problemSentence(fieldProblems(whole.error))}`)
  return { ...holder, subject, groups, role: outranks(holder.role, 'member') ? 'member' : holder.role, onBehalfOf: subject }
}

/** The key or token of a request. */
export function candidateOf({ apiKey, authorization }: Credentials): string | undefined {
  return apiKey ?? bearerToken(authorization)
}

/** Three parts with dots between them, which no API key has that the server made; also one without a signature, to be refused as a token. */
export function isToken(candidate: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(candidate)
}

function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+)$/i.exec(header)?.[1]
}
