/**
 * The view and the isolation, spelled for bubblewrap.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { guestFilterFlags } from '../guest-filter.ts'
import { guestUserFlags } from '../guest-users.ts'
import { GUEST_PATH_INSIDE } from '../jail/filesystem-view.ts'
import type { JailShape } from '../jail/jail-backend.ts'
import { COMMAND_USER, usersInside } from '../jail/jail-user.ts'
import type { PlacedEntry } from '../jail/staging.ts'
import { ROOT_CAPABILITIES } from '../user-ids.ts'

/** `FD_*` in `guest/launcher/plan.h`. */
const LISTEN_DESCRIPTOR = 3
const INFO_DESCRIPTOR = 4
const STATUS_DESCRIPTOR = 5
const USERNS_BLOCK_DESCRIPTOR = 0

const SANDBOX_ID = String(COMMAND_USER)
/** What the guest needs to run commands as another user and to end them; it drops them before it starts any. */
const GUEST_CAPABILITIES = ['CAP_SETUID', 'CAP_SETGID', 'CAP_KILL', 'CAP_SETPCAP']

export function bubblewrapFlags(entries: readonly PlacedEntry[], shape: JailShape, hasUsers: boolean): readonly string[] {
  return [
    // A session of its own: the guest shares no process group with the monitor outside, so it cannot signal it.
    ...['--unshare-all', '--unshare-user', '--as-pid-1', '--new-session', '--clearenv', '--hostname', 'sandbox'],
    ...['--info-fd', String(INFO_DESCRIPTOR)],
    // Held by the monitor alone, so that the network helper sees it end.
    ...(shape.network === 'on' ? ['--json-status-fd', String(STATUS_DESCRIPTOR)] : []),
    ...(hasUsers ? severalUsers(shape) : ['--uid', SANDBOX_ID, '--gid', SANDBOX_ID]),
    ...entries.flatMap(entryFlags),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/'],
    ...guestCommand(hasUsers, shape),
  ]
}

/** The guest has capabilities in its own user namespace; the launcher maps it to an unprivileged user outside. */
function severalUsers(shape: JailShape): readonly string[] {
  const guest = String(usersInside(shape).guest)
  const capabilities = [...GUEST_CAPABILITIES, ...(shape.user === 'root' ? ROOT_CAPABILITIES.map((name) => `CAP_${name}`) : [])]
  return [
    ...['--userns-block-fd', String(USERNS_BLOCK_DESCRIPTOR), '--uid', guest, '--gid', guest],
    ...capabilities.flatMap((capability) => ['--cap-add', capability]),
  ]
}

function guestCommand(hasUsers: boolean, shape: JailShape): readonly string[] {
  const { commands } = usersInside(shape)
  const user = hasUsers ? guestUserFlags({ uid: commands, gid: commands }, shape.packed) : []
  return [GUEST_PATH_INSIDE, 'serve', '--listen-fd', String(LISTEN_DESCRIPTOR), ...user, ...guestFilterFlags(shape)]
}

function entryFlags(entry: PlacedEntry): readonly string[] {
  switch (entry.kind) {
    case 'bind': {
      const flag = entry.mode === 'ro' ? '--ro-bind' : '--bind'
      return 'path' in entry.from ? [flag, entry.from.path, entry.target] : [`${flag}-fd`, String(entry.from.descriptor), entry.target]
    }
    case 'tmpfs':
      return ['--perms', entry.permissions, '--size', String(entry.sizeBytes), '--tmpfs', entry.target]
    case 'directory':
      return ['--perms', '0755', '--dir', entry.target]
    case 'symlink':
      return ['--symlink', entry.to, entry.target]
    case 'proc':
      return ['--proc', '/proc']
    case 'dev':
      return ['--dev', '/dev']
  }
}
