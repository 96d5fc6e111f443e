/**
 * Roles and API keys on the wire: who may be named, and what a new key is to be.
 *
 * A key is shown once, in the answer to its creation. Afterwards nobody can read it, the server included: it keeps a hash.
 */
import { z } from 'zod'

/** From the least power to the most. */
export const ROLES = ['viewer', 'member', 'operator', 'tenant_admin', 'platform_admin'] as const
export type Role = (typeof ROLES)[number]

/** `user`: speaks for its own subject only. `service`: may also speak for its users (`KeyUsers`). */
export const KEY_KINDS = ['user', 'service'] as const
export type KeyKind = (typeof KEY_KINDS)[number]

export const MAXIMUM_GROUPS = 64

const NAME_RULE = 'must be 1 to 255 characters without control characters'

/** Compared as it is, never folded or trimmed: two spellings are two names. */
const Name = z
  .string({ error: NAME_RULE })
  .min(1, { error: NAME_RULE })
  .max(255, { error: NAME_RULE })
  .regex(/^\P{Cc}*$/u, { error: NAME_RULE })
  .refine((name) => name.isWellFormed(), { error: NAME_RULE })

/** Of the server itself: nobody who comes from outside bears such a name, or is spoken for by it. */
export const OWN_SUBJECTS = 'holdfast:'

/** Who somebody is inside a tenant: the owner of sessions. */
export const Subject = Name.refine((name) => !name.startsWith(OWN_SUBJECTS), {
  error: `must not begin with "${OWN_SUBJECTS}", which is for the server itself`,
})
/** Whose something is that is looked for: also the server's own. */
export const Owner = Name
export const Group = Name
export const Groups = z.array(Group, { error: 'must be a list of groups' }).max(MAXIMUM_GROUPS, {
  error: `must name at most ${MAXIMUM_GROUPS} groups`,
})

/** Subjects of the identity provider; groups too. */
export const OIDC_SUBJECTS = 'oidc:'
/** The platform administrator's own. */
export const ADMIN_SUBJECT = 'admin'
/** Between the name of a service key and the name of its user. */
export const USER_SEPARATOR = '/'

export const MAXIMUM_LISTED_USERS = 256

/** No key speaks for these, whatever it says: neither the administrator nor anybody of the identity provider. */
export function isNeverSpokenFor(name: string): boolean {
  return name === ADMIN_SUBJECT || name.startsWith(OIDC_SUBJECTS)
}

const SpokenFor = Subject.refine((name) => !isNeverSpokenFor(name), {
  error: `must be neither "${ADMIN_SUBJECT}" nor begin with "${OIDC_SUBJECTS}": no key speaks for these`,
})

const OwnUsers = z.strictObject({ own: z.literal(true) })
const ListedUsers = z.strictObject({ list: z.array(SpokenFor).min(1).max(MAXIMUM_LISTED_USERS) })
const PrefixUsers = z.strictObject({ prefix: SpokenFor })

/** Whom a service key speaks for: users below its own name (`chat/alice`), a list, or all whose names begin alike. */
export const KeyUsers = z.union([OwnUsers, ListedUsers, PrefixUsers], {
  error: `must be {"own": true}, {"list": [1 to ${MAXIMUM_LISTED_USERS} subjects]} or {"prefix": "…"}, and never name "${ADMIN_SUBJECT}" or "${OIDC_SUBJECTS}…"`,
})
export type KeyUsers = z.output<typeof KeyUsers>

/** `any`: of keys that are older than this rule, which keep their users. */
export const GivenKeyUsers = z.union([OwnUsers, ListedUsers, PrefixUsers, z.strictObject({ any: z.literal(true) })])
export type GivenKeyUsers = z.output<typeof GivenKeyUsers>

export const CreateKeyBody = z
  .strictObject({
    /** For people who look at the list of keys. */
    name: Name,
    kind: z.enum(KEY_KINDS, { error: 'must be "user" or "service"' }).default('user'),
    subject: Subject,
    role: z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }).default('member'),
    groups: Groups.default([]),
    /** Left out: the key is good until it is revoked. */
    expires_in_seconds: z
      .int({ error: 'must be a whole number of seconds' })
      .min(1, { error: 'must be at least 1' })
      .max(315_360_000, { error: 'must be at most 315360000 (ten years)' })
      .optional(),
    /** Of a service key; left out: users below its own name. */
    users: KeyUsers.optional(),
  })
  .refine(({ kind, users }) => kind === 'service' || users === undefined, {
    error: 'is for service keys: a user key speaks for its own subject only',
    path: ['users'],
  })
  .refine(
    ({ kind, users, subject }) => kind !== 'service' || (users !== undefined && !('own' in users)) || !subject.includes(USER_SEPARATOR),
    {
      error: `must not have "${USER_SEPARATOR}" in it, which stands between a service key's name and its users`,
      path: ['subject'],
    },
  )
export type CreateKeyBody = z.output<typeof CreateKeyBody>
export type CreateKeyBodyInput = z.input<typeof CreateKeyBody>

export const KeyView = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string(),
  kind: z.enum(KEY_KINDS),
  subject: z.string(),
  role: z.enum(ROLES),
  groups: z.array(z.string()),
  /** Whom a service key speaks for; `null` for a user key. */
  users: GivenKeyUsers.nullable(),
  created_at: z.iso.datetime(),
  created_by: z.string(),
  expires_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
})
export type KeyView = z.output<typeof KeyView>

/** The answer to a creation, and the only place where `key` ever stands. */
export const CreatedKeyView = KeyView.extend({ key: z.string() })
export type CreatedKeyView = z.output<typeof CreatedKeyView>
