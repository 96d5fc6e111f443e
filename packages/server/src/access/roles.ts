/**
 * What each role may do, as one table.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * `own`: on what the caller owns or what belongs to one of its groups. `tenant`: on everything in the tenant of the request.
 * `admin-exec`: `own`, and `tenant` where the tenant's policy says `admin_exec`: looking into the work of others is not part of
 * administering them. Who may see a session at all is the row `list`.
 */
import { ROLES } from '@holdfast/protocol'
import type { Role } from '@holdfast/protocol'
import { SESSION_VERBS } from '../sessions/caller.ts'

export const ADMIN_VERBS = [
  'read-audit',
  'read-quotas',
  'read-sandboxes',
  'read-metrics',
  'read-skills',
  'read-mcp',
  'manage-keys',
  'make-keys-to-work',
  'manage-webhooks',
  'manage-skills',
  'manage-mcp',
  'manage-profiles',
  'manage-tenants',
] as const
export type AdminVerb = (typeof ADMIN_VERBS)[number]

export const VERBS = ['create', 'list', ...SESSION_VERBS, ...ADMIN_VERBS] as const
export type Verb = (typeof VERBS)[number]

export type Reach = 'never' | 'own' | 'tenant'
type Entry = Reach | 'admin-exec'

/** One column for each of `ROLES`, in that order: viewer, member, operator, tenant_admin, platform_admin. */
const TABLE: Readonly<Record<Verb, readonly [Entry, Entry, Entry, Entry, Entry]>> = {
  create: ['never', 'own', 'own', 'tenant', 'tenant'],
  list: ['tenant', 'own', 'tenant', 'tenant', 'tenant'],

  read: ['tenant', 'own', 'tenant', 'tenant', 'tenant'],
  'read-output': ['never', 'own', 'own', 'admin-exec', 'admin-exec'],
  exec: ['never', 'own', 'own', 'admin-exec', 'admin-exec'],
  files: ['never', 'own', 'own', 'admin-exec', 'admin-exec'],
  update: ['never', 'own', 'own', 'tenant', 'tenant'],
  refresh: ['never', 'own', 'tenant', 'tenant', 'tenant'],
  suspend: ['never', 'own', 'tenant', 'tenant', 'tenant'],
  resume: ['never', 'own', 'tenant', 'tenant', 'tenant'],
  'cancel-work': ['never', 'own', 'tenant', 'tenant', 'tenant'],
  cancel: ['never', 'own', 'tenant', 'tenant', 'tenant'],
  release: ['never', 'own', 'tenant', 'tenant', 'tenant'],
  // To ask for it; whoever may not `transfer-now` waits for the owner's consent.
  transfer: ['never', 'never', 'never', 'tenant', 'tenant'],
  'transfer-now': ['never', 'never', 'never', 'admin-exec', 'tenant'],
  'accept-transfer': ['never', 'own', 'own', 'own', 'own'],
  'reject-transfer': ['never', 'own', 'own', 'tenant', 'tenant'],
  hold: ['never', 'never', 'tenant', 'tenant', 'tenant'],

  'read-audit': ['tenant', 'own', 'tenant', 'tenant', 'tenant'],
  'read-quotas': ['tenant', 'own', 'tenant', 'tenant', 'tenant'],
  'read-sandboxes': ['tenant', 'own', 'tenant', 'tenant', 'tenant'],
  // Of the whole server, with no word of who uses it.
  'read-metrics': ['never', 'never', 'tenant', 'tenant', 'tenant'],
  'read-skills': ['tenant', 'tenant', 'tenant', 'tenant', 'tenant'],
  // What a model is told to do, and runs.
  'manage-skills': ['never', 'never', 'tenant', 'tenant', 'tenant'],
  'read-mcp': ['tenant', 'tenant', 'tenant', 'tenant', 'tenant'],
  // Programs that run for others, with secrets of the tenant.
  'manage-mcp': ['never', 'never', 'never', 'tenant', 'tenant'],
  // Profiles and pipelines of the tenant. Only who may manage tenants loosens what a profile locks.
  'manage-profiles': ['never', 'never', 'never', 'tenant', 'tenant'],
  'manage-keys': ['never', 'never', 'never', 'tenant', 'tenant'],
  // Keys for subjects and groups that have work here already.
  'make-keys-to-work': ['never', 'never', 'never', 'admin-exec', 'tenant'],
  'manage-webhooks': ['never', 'never', 'never', 'tenant', 'tenant'],
  // Tenants themselves: to make, shape and end any of them.
  'manage-tenants': ['never', 'never', 'never', 'never', 'tenant'],
}

/** How far a role reaches with a verb, in a tenant with this policy. */
export function reachOf(role: Role, verb: Verb, policy: { readonly admin_exec: boolean }): Reach {
  const entry = TABLE[verb][ROLES.indexOf(role)] ?? 'never'
  if (entry !== 'admin-exec') return entry
  return policy.admin_exec ? 'tenant' : 'own'
}

/** Whether `role` has more power than `other`. */
export function outranks(role: Role, other: Role): boolean {
  return ROLES.indexOf(role) > ROLES.indexOf(other)
}
