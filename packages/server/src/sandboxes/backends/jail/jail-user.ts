/**
 * Who is who when the server is root: the guest is an unprivileged user of the host that is root of its own user
 * namespace; commands are another one, so that they can neither signal nor trace the guest.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { PackedUsers } from '../../spec.ts'

/** The guest, seen from the host. Beside "nobody" (65534), which owns other things. */
export const JAIL_USER = 65_533
/** Commands, inside and outside alike. */
export const COMMAND_USER = 1000

export interface MappedIds {
  readonly inside: number
  readonly outside: number
  readonly count: number
}

/** A packed sandbox has its own users instead of the one for commands; they are the same numbers on the host. */
export function mappedIds(packed?: PackedUsers): readonly MappedIds[] {
  const commands =
    packed === undefined
      ? { inside: COMMAND_USER, outside: COMMAND_USER, count: 1 }
      : { inside: packed.firstUid, outside: packed.firstUid, count: packed.count }
  return [{ inside: 0, outside: JAIL_USER, count: 1 }, commands]
}

/** The launcher runs the jail program as that user and writes the map for it. */
export function jailUserFlags(packed?: PackedUsers): readonly string[] {
  // Lines of `/proc/<pid>/uid_map`.
  const map = mappedIds(packed).map(({ inside, outside, count }) => `${inside} ${outside} ${count}\n`)
  return ['--jail-user', String(JAIL_USER), '--id-map', map.join('')]
}

/** Users of a packed sandbox do not see each other in `/proc`; the guest's group does. */
export function hidingFlags(packed?: PackedUsers): readonly string[] {
  return packed === undefined ? [] : ['--hide-processes', String(JAIL_USER)]
}
