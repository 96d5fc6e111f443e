/**
 * An account of this machine that exists for one program: a uid with a name and, if wanted, subordinate ids, in a mount namespace of its own
 * that shows it other files at `/etc/passwd`, `/etc/subuid` and `/etc/subgid`, and if wanted another `/dev/net/tun`. Nothing of the machine changes. Needs root.
 */
import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

/** Nobody's. */
export const ACCOUNT = { name: 'holdfast-test', uid: 61_234 } as const
/** Nobody's either. */
export const SUBORDINATE_IDS = { first: 1_879_048_192, count: 65_536 } as const

export interface AccountNeeds {
  /** Exists; three small files are put there. */
  readonly directory: string
  readonly hasSubordinateIds: boolean
  /** The mode of the account's own /dev/net/tun, such as `0666`; without it the account sees the machine's. */
  readonly tunMode?: string
  readonly environment?: Readonly<Record<string, string>>
}

const SCRIPT = `
set -e
for file in passwd subuid subgid; do mount --bind "$1/$file" "/etc/$file"; done
if [ -n "$3" ]; then
  [ -e "$1/tun" ] || mknod "$1/tun" c 10 200
  chmod "$3" "$1/tun"
  mount --bind "$1/tun" /dev/net/tun
fi
uid=$2; shift 3
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
`

/** The account's group has the number of its uid. */
export function spawnAsAccount(
  argv: readonly string[],
  { directory, hasSubordinateIds, tunMode = '', environment = {} }: AccountNeeds,
): ChildProcessByStdio<Writable, Readable, Readable> {
  const { name, uid } = ACCOUNT
  writeFileSync(join(directory, 'passwd'), `${readFileSync('/etc/passwd', 'utf8')}${name}:x:${uid}:${uid}::/:/bin/sh\n`)
  const delegated = hasSubordinateIds ? `${name}:${SUBORDINATE_IDS.first}:${SUBORDINATE_IDS.count}\n` : ''
  for (const file of ['subuid', 'subgid']) writeFileSync(join(directory, file), delegated)
  const command = ['--mount', '--propagation', 'private', 'sh', '-c', SCRIPT, 'sh', directory, String(uid), tunMode, ...argv]
  return spawn('unshare', command, {
    cwd: '/',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}
