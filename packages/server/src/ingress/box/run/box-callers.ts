/**
 * Who a Box client is to the sessions: a member that owns what its workspace makes, and nothing else.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { callerOf } from '../../../access/authorize.ts'
import { BOX_SUBJECTS as OWNER_PREFIX } from '../../../access/principal.ts'
import type { Principal } from '../../../access/principal.ts'
import type { Caller } from '../../../sessions/caller.ts'

/** Stands for the door in events and audit, where others have their key. */
const DOOR_KEY_ID = 'box_door'
/** What no role asks about that is used here. */
const POLICY = { admin_exec: false }
const MAXIMUM_REMEMBERED = 10_000

export interface BoxCallers {
  /** The workspace with this namespace. */
  of(namespace: string): Caller
  /** The door itself: sees what all of them own, and may end it. */
  readonly door: Caller
}

export function boxCallers(tenantId: string): BoxCallers {
  const known = new Map<string, Caller>()
  const principal = (subject: string, role: Principal['role']): Principal => ({
    ...{ tenantId, subject, groups: [], role, kind: 'service', keyId: DOOR_KEY_ID, onBehalfOf: null },
  })
  return {
    door: callerOf(principal('langbot', 'tenant_admin'), POLICY),
    of(namespace) {
      const there = known.get(namespace)
      if (there !== undefined) return there
      const caller = callerOf(principal(`${OWNER_PREFIX}${namespace}`, 'member'), POLICY)
      if (known.size >= MAXIMUM_REMEMBERED) known.clear()
      known.set(namespace, caller)
      return caller
    },
  }
}

/** The namespace of the workspace that owns it; `null`: it is nobody's of this door. */
export function namespaceOfOwner(owner: string): string | null {
  return owner.startsWith(OWNER_PREFIX) ? owner.slice(OWNER_PREFIX.length) : null
}
