/** What `holdfast doctor` says about the machine itself: the kernel, cgroups and user namespaces, read from /proc and /sys. */
import { existsSync, readFileSync } from 'node:fs'
import { arch, platform, release } from 'node:os'

export interface MachineFacts {
  readonly node: string
  readonly kernel: string
  readonly user: string
  readonly cgroups: string
  readonly userNamespaces: string
}

export function machineFacts(): MachineFacts {
  const uid = process.getuid?.()
  return {
    node: process.version,
    kernel: `${platform()} ${release()} ${arch()}`,
    user: uid === 0 ? 'root' : `uid ${uid ?? 'unknown'}`,
    cgroups: cgroups(),
    userNamespaces: userNamespaces(),
  }
}

function cgroups(): string {
  const mounts = read('/proc/self/mounts').split('\n')
  const hasV2 = mounts.some((line) => line.split(' ')[2] === 'cgroup2')
  const v1 = mounts.filter((line) => line.split(' ')[2] === 'cgroup').length
  if (v1 > 0 && hasV2) return `hybrid (${v1} version 1 hierarchies and version 2)`
  if (v1 > 0) return `version 1 (${v1} hierarchies)`
  if (!hasV2) return 'not mounted: no limits can be enforced without an engine'
  return `version 2 (${read('/sys/fs/cgroup/cgroup.controllers').trim() || 'no controllers'})`
}

function userNamespaces(): string {
  if (!existsSync('/proc/self/ns/user')) return 'not in this kernel'
  if (read('/proc/sys/user/max_user_namespaces').trim() === '0') return 'switched off: sysctl -w user.max_user_namespaces=15000'
  if (read('/proc/sys/kernel/unprivileged_userns_clone').trim() === '0')
    return 'for root only: sysctl -w kernel.unprivileged_userns_clone=1'
  if (read('/proc/sys/kernel/apparmor_restrict_unprivileged_userns').trim() === '1')
    return 'restricted by AppArmor: programs need a profile'
  return 'available'
}

/** An absent or unreadable file is a fact about the machine too: empty. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
