/**
 * Whom the guest runs commands as, in the words of its command line.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { PackedUsers, SandboxUser } from '../spec.ts'

/** One user for all commands, or the users of a packed sandbox, none of which is a default. */
export function guestUserFlags(user: SandboxUser, packed?: PackedUsers): readonly string[] {
  if (packed === undefined) return ['--uid', String(user.uid), '--gid', String(user.gid)]
  const { firstUid, count, pidsPerUid } = packed
  return ['--first-user', String(firstUid), '--user-count', String(count), '--user-processes', String(pidsPerUid)]
}
