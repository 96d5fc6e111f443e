/**
 * The ids of a sandbox with `user: root`: which users of its own user namespace are which users of the host.
 *
 * Commands are root inside. Users that packages bring have ids of the session's own. The guest is none of them, and the system call filter
 * keeps commands from becoming it. Why: docs/adr/0034-root-inside.md
 */
import { HoldfastError } from '@holdfast/protocol'
import { SYSTEM_USERS } from '../host-users.ts'
import type { HostUsers } from '../spec.ts'

/** The guest, inside: a number that Debian and others give to nobody. */
export const GUEST_USER_BESIDE_ROOT = 65_533
const NOBODY = 65_534

/** What commands keep that are root of the sandbox, beside SETUID and SETGID: `ROOT_CAPABILITIES` in `guest/src/lockdown.c`. */
export const ROOT_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'NET_BIND_SERVICE'] as const

export interface MappedIds {
  readonly inside: number
  readonly outside: number
  readonly count: number
}

/** Throws `capability_unsupported` for a sandbox without users of its own. */
export function idsOfRoot(users: HostUsers | undefined): readonly MappedIds[] {
  const { commands, guest, system } = users ?? {}
  if (commands === undefined || guest === undefined || system === undefined)
    throw new HoldfastError('capability_unsupported', 'user: root needs host users of the sandbox’s own; set sandbox_uids')
  return [
    { inside: 0, outside: commands, count: 1 },
    { inside: 1, outside: system, count: SYSTEM_USERS - 1 },
    { inside: GUEST_USER_BESIDE_ROOT, outside: guest, count: 1 },
    { inside: NOBODY, outside: system + SYSTEM_USERS - 1, count: 1 },
  ]
}
