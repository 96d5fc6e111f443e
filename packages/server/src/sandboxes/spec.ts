/**
 * What a sandbox is to be: one validated, immutable wish, made by policy and honoured exactly by a backend.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */

/** A host directory (or file) shown inside. `source` is canonical: absolute, symlinks resolved, known to exist. */
export interface Mount {
  readonly source: string
  readonly target: string
  readonly mode: 'ro' | 'rw'
  /** Files of the session itself, which belong to `HostUsers.commands`. Absent: files of the host, whose owners stay what they are. */
  readonly isOwn?: true
  /** Files of the host that belong to this user are shown as those of the sandbox's user. Absent: `sandboxUserOnHost()`. */
  readonly owner?: number
}

/** `null` means no limit is wished, never "whatever you can". */
export interface Limits {
  readonly cpus: number | null
  readonly memoryBytes: number | null
  readonly pids: number | null
  /** Each bounded writable tmpfs (`/tmp`, and the home and the workspace where they are not mounts). */
  readonly tmpBytes: number
  readonly openFiles: number
}

/** Several sessions in one sandbox, each under a uid of its own, with nothing in common but the sandbox. */
export interface PackedUsers {
  /** Host directory shown at `/sessions`; root's, mode 0711. `packed-directory.ts` makes it, and the places in it. */
  readonly source: string
  /** The uids that may run something: `firstUid` and the `count - 1` after it, all of `PACKED_UIDS`. */
  readonly firstUid: number
  readonly count: number
  /** How many processes one of them may have at a time, so that a neighbour can always start some. */
  readonly pidsPerUid: number
}

/** Who a sandbox is on the host where the server has users to give; the group of the same number goes with each. */
export interface HostUsers {
  /** Of all commands; not used by a packed sandbox, which has users of its own. */
  readonly commands: number
  /** Of a jail's guest, who makes its namespaces. */
  readonly guest: number
  /** The first of `SYSTEM_USERS` ids, for the users 1 to 1000 and nobody of a sandbox with `user: root`. */
  readonly system?: number
}

export interface SandboxSpec {
  /** A container image, or `null` where the backend shows the host's own `/usr`. */
  readonly image: string | null
  readonly network: 'off' | 'on'
  readonly rootfs: 'read-only' | 'writable'
  /** Absent: the unprivileged user. `root`: commands are uid 0 of the sandbox's own user namespace; needs a writable root and `users`. */
  readonly user?: 'root'
  /** No two targets equal or nested in a way that hides one, except below `/workspace` and `/home/user`, parents first. */
  readonly mounts: readonly Mount[]
  readonly limits: Limits
  /** Absent: one user, one `/workspace`. Present: no `/workspace`, no default user, and neighbours that see nothing of each other. */
  readonly packed?: PackedUsers
  /** Absent: the users that all sandboxes have in common. */
  readonly users?: HostUsers
  /** Present: files take space on a disk by being written and in no other way, because somebody watches how much that is. */
  readonly refusesReserving?: true
}

/** The user every command runs as inside. Where the server has no users to give this is also its uid on the host. */
export interface SandboxUser {
  readonly uid: number
  readonly gid: number
}
