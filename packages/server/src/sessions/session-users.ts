/**
 * Who a session's sandbox is on the host: users of its own where the server and the backend can give them.
 *
 * Why: docs/adr/0022-host-users.md, docs/adr/0028-subordinate-ids.md
 */
import { HoldfastError } from '@holdfast/protocol'
import type { OpenBackend } from '../sandboxes/choose.ts'
import { hostUsersOf, systemUsersOf } from '../sandboxes/host-users.ts'
import type { UidRange } from '../sandboxes/host-users.ts'
import { isServerRoot, sandboxUserOnHost } from '../sandboxes/sandbox-user.ts'
import type { Log } from '../telemetry/log.ts'
import type { HabitatNeeds } from './habitats.ts'

export interface SessionUsersNeeds {
  /** `null`: sandboxes have no users of their own. */
  readonly range: UidRange | null
  readonly openBackend: OpenBackend
  readonly log: Log
}

/** The commands' user follows from the session, because files belong to it; the guest's from the sandbox, because several may share one. */
export function sessionUsers({ range, openBackend, log }: SessionUsersNeeds): HabitatNeeds['usersFor'] {
  return async ({ id, sandboxId }, spec, kind) => {
    const { hostUsers } = await openBackend(kind)
    if (spec.user === 'root' && (range === null || hostUsers === undefined))
      throw noRootUser('sandbox_uids is none, or the server is not root')
    if (range === null || hostUsers === undefined || sandboxId === null) return null
    const { guest } = hostUsersOf(range, sandboxId)
    // Only root can put a user of its own beside the one that all sandboxes have in common.
    const shared = isServerRoot() ? { commands: sandboxUserOnHost().uid, guest } : null
    if (spec.packed !== undefined) return shared
    const problem = await hostUsers.problem(spec)
    const { commands } = hostUsersOf(range, id)
    if (spec.user === 'root') {
      const system = systemUsersOf(range, id, [commands, guest])
      if (problem !== null || system === null) throw noRootUser(problem ?? 'the range sandbox_uids is too small')
      return { commands, guest, system }
    }
    if (problem === null) return { commands, guest }
    log.info('host-user-shared', { session: id, reason: problem })
    return shared
  }
}

function noRootUser(why: string): HoldfastError {
  return new HoldfastError('capability_unsupported', `user: root needs host users of the session's own: ${why}`, { capability: 'rootUser' })
}
