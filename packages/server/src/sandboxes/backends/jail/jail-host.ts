/**
 * Facts of the host that decide how a jail is made and what it can promise.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Capabilities } from '../../backend.ts'
import { isPlace, type CgroupLayout, type CgroupPlace } from './cgroup-layout.ts'

export interface JailHost {
  readonly isRoot: boolean
  readonly cgroups: CgroupLayout
  readonly network: { readonly program: string } | { readonly reason: string }
  /** Why sessions cannot be packed, or `null`. */
  readonly packingProblem: string | null
  /** Why a root cannot be writable, or `null`. */
  readonly writableRootProblem: string | null
  /** Why commands cannot be root of the sandbox, or `null`. */
  readonly rootUserProblem: string | null
}

/** What a jail needs to be given instead of finding: tests of a machine without it. */
export interface JailSettings {
  /** The value of PATH to look for programs in. */
  readonly searchPath?: string
}

const DEFAULT_SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The first executable of that name, as a shell would find it. */
export function findProgram(name: string, searchPath = DEFAULT_SEARCH_PATH): string | null {
  const candidates = searchPath
    .split(delimiter)
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, name))
  return candidates.find((path) => isAccessible(path, constants.X_OK)) ?? null
}

export function findNetwork(isRoot: boolean, searchPath?: string): JailHost['network'] {
  const program = findProgram('slirp4netns', searchPath)
  if (program === null) return { reason: 'slirp4netns is not installed; run `apt-get install slirp4netns`' }
  const mode = isRoot ? constants.F_OK : constants.R_OK | constants.W_OK
  if (!isAccessible('/dev/net/tun', mode))
    return {
      reason: `/dev/net/tun ${isAccessible('/dev/net/tun', constants.F_OK) ? `is closed to this user; run \`${OPEN_TUN}\`, then start the server again` : 'is not there; run `sudo modprobe tun`, then start the server again'}`,
    }
  return { program }
}

export const OPEN_TUN = 'sudo chmod 666 /dev/net/tun'

/** The network helper of a sandbox with subordinate users is one of them, so it has no right to the device but everybody's. */
export function isTunOpenToAll(): boolean {
  return ((statSync('/dev/net/tun', { throwIfNoEntry: false })?.mode ?? 0) & 0o006) === 0o006
}

export function jailCapabilities(host: JailHost): Capabilities {
  const missing = (place: CgroupPlace | { readonly reason: string }): string | null => (isPlace(place) ? null : place.reason)
  const reasons = {
    cpus: missing(host.cgroups.cpu),
    memory: missing(host.cgroups.memory),
    pids: missing(host.cgroups.pids),
    networkOn: 'reason' in host.network ? host.network.reason : null,
    images: 'a jail shows the /usr of the host; choose podman or docker for images',
    writableRoot: host.writableRootProblem,
    rootUser: host.rootUserProblem,
    severalUsers: host.isRoot ? null : 'only root may map several users into a sandbox; start the server as root',
    packing: host.packingProblem,
  }
  return {
    limits: { cpus: reasons.cpus === null, memory: reasons.memory === null, pids: reasons.pids === null },
    networkOn: reasons.networkOn === null,
    images: false,
    writableRoot: reasons.writableRoot === null,
    rootUser: reasons.rootUser === null,
    severalUsers: reasons.severalUsers === null,
    packing: reasons.packing === null,
    reasons: Object.fromEntries(Object.entries(reasons).flatMap(([name, reason]) => (reason === null ? [] : [[name, reason]]))),
  }
}

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
