/**
 * Whom a service key speaks for: its rule applied to a name. Why: docs/adr/0024-identity.md
 *
 * By default the users and groups of a program live below the name of its key: `alice` of the key `chat` is `chat/alice`, so programs whose
 * users have the same names do not meet. The names in a list or behind a prefix are taken as they are.
 */
import { isNeverSpokenFor, OIDC_SUBJECTS, USER_SEPARATOR } from '@holdfast/protocol'
import type { GivenKeyUsers } from '@holdfast/protocol'

export interface Speaker {
  readonly subject: string
  readonly groups: readonly string[]
  readonly users: GivenKeyUsers
}

/** Who this user is here; `null`: the key does not speak for it. */
export function subjectFor({ subject, users }: Speaker, user: string): string | null {
  if ('own' in users) return `${subject}${USER_SEPARATOR}${user}`
  if (isNeverSpokenFor(user)) return null
  return covers({ subject, users }, user) ? user : null
}

/** The same for a group: in a list there are no groups but the key's own. */
export function groupFor({ subject, groups, users }: Speaker, group: string): string | null {
  if ('own' in users) return `${subject}${USER_SEPARATOR}${group}`
  if (group.startsWith(OIDC_SUBJECTS)) return null
  const isGiven = 'any' in users || groups.includes(group) || ('prefix' in users && group.startsWith(users.prefix))
  return isGiven ? group : null
}

/** Whether the key can be this subject, by its whole name. */
export function covers({ subject, users }: Pick<Speaker, 'subject' | 'users'>, name: string): boolean {
  if ('own' in users) return name.startsWith(`${subject}${USER_SEPARATOR}`)
  if ('list' in users) return users.list.includes(name)
  return 'any' in users || name.startsWith(users.prefix)
}

/** In words, for those who are refused. */
export function usersInWords({ subject, users }: Pick<Speaker, 'subject' | 'users'>): string {
  if ('own' in users) return `users below ${JSON.stringify(`${subject}${USER_SEPARATOR}`)}`
  if ('list' in users) return 'the users in its list'
  return 'any' in users
    ? 'all users but the administrator and those of the identity provider'
    : `users whose names begin with ${JSON.stringify(users.prefix)}`
}
