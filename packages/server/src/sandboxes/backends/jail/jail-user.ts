/**
 * Who is who when the server is root: the guest is an unprivileged user of the host that is root of its own user
 * namespace; commands are another one, so that they can neither signal nor trace the guest.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */

/** The guest, seen from the host. Beside "nobody" (65534), which owns other things. */
export const JAIL_USER = 65_533
/** Commands, inside and outside alike. */
export const COMMAND_USER = 1000

/** Lines of `/proc/<pid>/uid_map`: inside, outside, how many. */
const ID_MAP = `0 ${JAIL_USER} 1\n${COMMAND_USER} ${COMMAND_USER} 1\n`

/** The launcher runs the jail program as that user and writes the map for it. */
export function jailUserFlags(): readonly string[] {
  return ['--jail-user', String(JAIL_USER), '--id-map', ID_MAP]
}
