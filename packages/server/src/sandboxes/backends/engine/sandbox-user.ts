/**
 * Who commands run as in a container.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * A server that is root gives every sandbox uid 1000. Any other server gives it its own uid, so that files in mounts
 * belong to the same user inside and outside.
 */
import { getgid, getuid } from 'node:process'
import type { SandboxUser } from '../../spec.ts'

const UNPRIVILEGED_ID = 1000

export function isServerRoot(): boolean {
  return getuid?.() === 0
}

export function sandboxUser(): SandboxUser {
  if (isServerRoot()) return { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID }
  // A gid of 0 must never reach a command.
  return { uid: getuid?.() ?? UNPRIVILEGED_ID, gid: getgid?.() || UNPRIVILEGED_ID }
}
