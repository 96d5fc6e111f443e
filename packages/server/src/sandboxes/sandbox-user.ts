/**
 * The user that all sandboxes have in common, as the host sees it: of files in directories of the host, and of commands that have no user
 * of their own (`host-users.ts`).
 *
 * A root server gives sandboxes uid 1000, never its own. Any other server has no second uid to give, so its own is used, and files
 * in mounts belong to the same user inside and outside.
 */
import type { SandboxUser } from './spec.ts'

const UNPRIVILEGED = { uid: 1000, gid: 1000 }

export function isServerRoot(): boolean {
  return process.getuid?.() === 0
}

export function sandboxUserOnHost(): SandboxUser {
  if (isServerRoot()) return UNPRIVILEGED
  // A gid of 0 must never reach a command.
  return { uid: process.getuid?.() ?? UNPRIVILEGED.uid, gid: process.getgid?.() || UNPRIVILEGED.gid }
}
