/**
 * Who is who in a jail when the server has users to give, as root or over subordinate ids: the guest is an unprivileged user of the host that is root of its own user
 * namespace; commands are another one, so that they can neither signal nor trace the guest.
 */
import { exchangedOwners, ownerLines } from '../owner-map.ts'
import { GUEST_USER_BESIDE_ROOT, idsOfRoot } from '../user-ids.ts'
import type { MappedIds } from '../user-ids.ts'
import type { HostUsers, PackedUsers, SandboxSpec } from '../../spec.ts'

/** Commands, inside; and outside where a sandbox has no host users of its own. */
export const COMMAND_USER = 1000
/** The guest, seen from the host, where a sandbox has no host users of its own. Beside "nobody" (65534), which owns other things. */
export const JAIL_USER = 65_533

const SHARED_USERS: HostUsers = { commands: COMMAND_USER, guest: JAIL_USER }

/** What of a spec says who its sandbox is. */
export interface JailUsers {
  readonly packed?: PackedUsers
  readonly users?: HostUsers
  readonly user?: SandboxSpec['user']
}

export function hostUsers({ users = SHARED_USERS }: JailUsers): HostUsers {
  return users
}

/** A packed sandbox has its own users instead of the one for commands; they are the same numbers on the host. */
export function mappedIds(jail: JailUsers): readonly MappedIds[] {
  const { packed, user } = jail
  const { commands, guest } = hostUsers(jail)
  if (user === 'root') return idsOfRoot(jail.users)
  return [
    { inside: 0, outside: guest, count: 1 },
    packed === undefined
      ? { inside: COMMAND_USER, outside: commands, count: 1 }
      : { inside: packed.firstUid, outside: packed.firstUid, count: packed.count },
  ]
}

/** Who the guest is inside, and who commands are unless they are packed. */
export function usersInside({ user }: JailUsers): { readonly guest: number; readonly commands: number } {
  return user === 'root' ? { guest: GUEST_USER_BESIDE_ROOT, commands: 0 } : { guest: 0, commands: COMMAND_USER }
}

/** Files of the host's root belong to the sandbox's user; where that is root, files of other system users to users of the same number. */
function overlayOwners(jail: JailUsers): string {
  if (jail.user !== 'root') return exchangedOwners(0, hostUsers(jail).commands)
  const ids = idsOfRoot(jail.users).filter(({ inside }) => inside !== GUEST_USER_BESIDE_ROOT)
  return ownerLines(ids.map(({ inside, outside, count }) => ({ onDisk: inside, shown: outside, count })))
}

/** The launcher runs the jail program as the guest's user and writes the map for it. */
export function jailUserFlags(jail: JailUsers): readonly string[] {
  // Lines of `/proc/<pid>/uid_map`.
  const map = mappedIds(jail).map(({ inside, outside, count }) => `${inside} ${outside} ${count}\n`)
  return ['--jail-user', String(hostUsers(jail).guest), '--id-map', map.join('')]
}

/**
 * Users of a packed sandbox do not see each other in `/proc`; the guest's group does. Root of a sandbox would own what `/proc` shows of the
 * guest, and could offer it to the OOM killer.
 */
export function hidingFlags(jail: JailUsers): readonly string[] {
  return jail.packed === undefined && jail.user === undefined ? [] : ['--hide-processes', String(hostUsers(jail).guest)]
}

/** How a root server stages the view of such a jail. */
export function stagingAsRoot(jail: JailUsers) {
  const { commands, guest } = hostUsers(jail)
  const root = jail.user === 'root' ? commands : guest
  return {
    kind: 'as-root',
    owners: { user: commands, root },
    mapsOwners: commands !== COMMAND_USER,
    overlayOwners: overlayOwners(jail),
  } as const
}
