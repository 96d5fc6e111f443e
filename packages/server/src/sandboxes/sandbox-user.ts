/**
 * The user that commands run as, as the host sees it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * A root server gives sandboxes uid 1000, never its own; any other server has no second uid to give, so its own is used.
 */
import type { SandboxUser } from './spec.ts'

const UNPRIVILEGED = { uid: 1000, gid: 1000 }

export function sandboxUserOnHost(serverUid = process.getuid?.() ?? 0, serverGid = process.getgid?.() ?? 0): SandboxUser {
  if (serverUid === 0) return UNPRIVILEGED
  // A gid of 0 must never reach a command.
  return { uid: serverUid, gid: serverGid || UNPRIVILEGED.gid }
}
