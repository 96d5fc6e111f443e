/**
 * Why this host lets nobody make a user namespace, and what changes it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * The kernel answers all of these with the same "operation not permitted"; the settings tell them apart.
 */
import { existsSync, readFileSync } from 'node:fs'

export interface UsernsEvidence {
  /** The program's own complaint. */
  readonly complaint: string
  readonly apparmorRestricts: boolean
  readonly maxUserNamespaces: number | null
  readonly cloneForbidden: boolean
  readonly inContainer: boolean
  readonly programPath: string
}

export function gatherEvidence(complaint: string, programPath: string): UsernsEvidence {
  const maximum = readSetting('/proc/sys/user/max_user_namespaces')
  return {
    complaint,
    programPath,
    apparmorRestricts: readSetting('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1',
    maxUserNamespaces: maximum === null ? null : Number(maximum),
    cloneForbidden: readSetting('/proc/sys/kernel/unprivileged_userns_clone') === '0',
    inContainer: existsSync('/.dockerenv') || existsSync('/run/.containerenv'),
  }
}

export function explainRefusal(evidence: UsernsEvidence): { readonly reason: string; readonly fix: string } {
  const { complaint, programPath } = evidence
  if (evidence.maxUserNamespaces === 0) {
    return {
      reason: 'user namespaces are turned off (user.max_user_namespaces is 0)',
      fix: 'run `sysctl -w user.max_user_namespaces=15000` as root',
    }
  }
  if (evidence.cloneForbidden) {
    return {
      reason: 'only root may make user namespaces (kernel.unprivileged_userns_clone is 0)',
      fix: 'run `sysctl -w kernel.unprivileged_userns_clone=1` as root',
    }
  }
  if (evidence.apparmorRestricts) {
    return {
      reason: `AppArmor forbids user namespaces to programs without a profile (kernel.apparmor_restrict_unprivileged_userns is 1): ${complaint}`,
      fix: `as root, write the profile \`${apparmorProfile(programPath)}\` to /etc/apparmor.d/holdfast-jail and run \`apparmor_parser -r /etc/apparmor.d/holdfast-jail\``,
    }
  }
  if (evidence.inContainer) {
    return {
      reason: `the container that the server runs in allows no user namespaces: ${complaint}`,
      fix: 'start that container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`, or give the server an engine instead',
    }
  }
  return { reason: `it does not start: ${complaint}`, fix: 'make what the message names possible for this user, or choose another backend' }
}

function apparmorProfile(programPath: string): string {
  return `abi <abi/4.0>, include <tunables/global> profile holdfast-jail ${programPath} flags=(unconfined) { userns, }`
}

function readSetting(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // The kernel has no such setting.
    return null
  }
}
