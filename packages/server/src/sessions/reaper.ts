/**
 * Ends sandboxes that no session names any more.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Whoever lets go of a sandbox only says so in the store; it is destroyed here, now or at the next sweep or start. A sandbox is
 * condemned in the store first, so that nobody can move in while it is being destroyed.
 */
import type { BackendKind } from '../sandboxes/backend.ts'
import { BACKEND_KINDS } from '../sandboxes/backend.ts'
import type { Store } from '../store/store.ts'
import { condemnSandbox, deleteSandbox, findSandbox, unboundSandboxes } from '../store/tables/sandboxes.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import type { Fleet } from './fleet.ts'

const AT_ONCE = 8

export interface Reaper {
  /** Destroys it if no session names it, and forgets it. What fails is tried again at the next `reapAll`. */
  reap(sandboxId: string): Promise<void>
  /** Every sandbox of this server that is not wanted; also waits for those that are being destroyed already. */
  reapAll(): Promise<void>
}

export interface ReaperNeeds {
  readonly store: Store
  readonly fleet: Fleet
  readonly serverId: string
  readonly log: Log
}

export function createReaper({ store, fleet, serverId, log }: ReaperNeeds): Reaper {
  const underWay = new Map<string, Promise<void>>()

  function reap(id: string): Promise<void> {
    const known = underWay.get(id)
    // One that is under way may have looked before the last session let go: it is looked at again afterwards.
    const attempt = known === undefined ? destroy(id) : known.then(() => destroy(id))
    const done = attempt.finally(() => {
      if (underWay.get(id) === done) underWay.delete(id)
    })
    underWay.set(id, done)
    return done
  }

  async function destroy(id: string): Promise<void> {
    try {
      const row = await store.read((sql) => findSandbox(sql, id))
      // Another server's is that one's to destroy: only its backend can.
      if (row?.serverId !== serverId || !(await store.write((transaction) => condemnSandbox(transaction, id)))) return
      await fleet.destroy({ id, backend: backendKind(row.backend) })
      await store.write((transaction) => deleteSandbox(transaction, id))
      log.info('sandbox-removed', { sandbox: id })
    } catch (error) {
      log.error('sandbox-removal-failed', { sandbox: id, error: errorText(error) })
    }
  }
  return {
    reap,
    async reapAll() {
      const ids = [...(await store.read((sql) => unboundSandboxes(sql, serverId)))]
      const worker = async () => {
        for (let id = ids.pop(); id !== undefined; id = ids.pop()) await reap(id)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
      await Promise.all(underWay.values())
    },
  }
}

/** The kind a row names; a row of another version of Holdfast may name one that this one does not have. */
export function backendKind(name: string): BackendKind {
  const kind = BACKEND_KINDS.find((known) => known === name)
  if (kind === undefined) throw new Error(`the store names the backend ${name}, which this version does not have`)
  return kind
}
