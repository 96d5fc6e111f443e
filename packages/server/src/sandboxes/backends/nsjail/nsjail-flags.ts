/**
 * The view and the isolation, spelled for nsjail.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * The limits are our own cgroups, not nsjail's, and the system call filter is the guest's, so that both are the same
 * on every jail.
 */
import { HoldfastError } from '@holdfast/protocol'
import { guestFilterFlags } from '../guest-filter.ts'
import { guestUserFlags } from '../guest-users.ts'
import { GUEST_PATH_INSIDE } from '../jail/filesystem-view.ts'
import type { JailShape } from '../jail/jail-backend.ts'
import { COMMAND_USER, mappedIds } from '../jail/jail-user.ts'
import type { JailUsers } from '../jail/jail-user.ts'
import type { PlacedEntry } from '../jail/staging.ts'

/** `FD_LISTEN` in `guest/launcher/plan.h`. */
const LISTEN_DESCRIPTOR = 3
const GUEST_CAPABILITIES = ['CAP_SETUID', 'CAP_SETGID', 'CAP_KILL', 'CAP_SETPCAP']
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty']

export interface JailIdentity {
  readonly isRoot: boolean
  /** The server's own user, mapped to the sandbox's where the server is not root. */
  readonly uid: number
  readonly gid: number
}

export function nsjailFlags(entries: readonly PlacedEntry[], identity: JailIdentity, shape: Omit<JailShape, 'network'>): readonly string[] {
  return [
    ...['--mode', 'o', '--really_quiet', '--time_limit', '0', '--disable_rlimits', '--hostname', 'sandbox', '--cwd', '/'],
    // Without this nsjail gives its programs the lowest priority there is.
    ...['--nice_level', '0'],
    ...['--pass_fd', String(LISTEN_DESCRIPTOR)],
    ...identityFlags(identity, shape),
    ...entries.flatMap(entryFlags),
    '--',
    ...[GUEST_PATH_INSIDE, 'serve', '--listen-fd', String(LISTEN_DESCRIPTOR)],
    ...(identity.isRoot ? guestUserFlags({ uid: COMMAND_USER, gid: COMMAND_USER }, shape.packed) : []),
    ...guestFilterFlags(shape),
  ]
}

function identityFlags({ isRoot, uid, gid }: JailIdentity, jail: JailUsers): readonly string[] {
  if (!isRoot) return ['--user', `${COMMAND_USER}:${uid}:1`, '--group', `${COMMAND_USER}:${gid}:1`]
  const maps = mappedIds(jail).map(({ inside, outside, count }) => `${inside}:${outside}:${count}`)
  return [...maps.flatMap((map) => ['--user', map, '--group', map]), ...GUEST_CAPABILITIES.flatMap((capability) => ['--cap', capability])]
}

function entryFlags(entry: PlacedEntry): readonly string[] {
  switch (entry.kind) {
    case 'bind':
      // nsjail's /proc is read-only as a whole already.
      if (entry.target === '/proc/sys') return []
      if ('descriptor' in entry.from) throw new HoldfastError('internal', 'nsjail binds no descriptors')
      return [entry.mode === 'ro' ? '--bindmount_ro' : '--bindmount', pair(entry.from.path, entry.target)]
    case 'symlink':
      return ['--symlink', pair(entry.to, entry.target)]
    case 'proc':
      // nsjail mounts it by itself, read-only.
      return []
    case 'dev':
      return devFlags()
    case 'directory':
      // nsjail makes the directories on the way to a mount, readable to all.
      return []
    case 'tmpfs':
      throw new HoldfastError('internal', 'nsjail shows no tmpfs that is not staged')
  }
}

function devFlags(): readonly string[] {
  return [
    ...DEVICES.flatMap((device) => ['--bindmount', pair(`/dev/${device}`, `/dev/${device}`)]),
    ...['--mount', 'none:/dev/pts:devpts:newinstance,ptmxmode=0666,mode=0620'],
    ...['--symlink', pair('pts/ptmx', '/dev/ptmx'), '--symlink', pair('/proc/self/fd', '/dev/fd')],
    ...['--symlink', pair('/proc/self/fd/0', '/dev/stdin'), '--symlink', pair('/proc/self/fd/1', '/dev/stdout')],
    ...['--symlink', pair('/proc/self/fd/2', '/dev/stderr')],
  ]
}

/** nsjail splits at every colon and has no way to quote one. */
function pair(from: string, to: string): string {
  const odd = [from, to].find((path) => path.includes(':'))
  if (odd !== undefined) throw new HoldfastError('capability_unsupported', `nsjail cannot mount at ${odd}: its flags cannot spell a colon`)
  return `${from}:${to}`
}
