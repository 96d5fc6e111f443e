/**
 * A packed session moves out: whatever still runs as its user ends, in every sandbox that it may have been in.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A session alone in its sandbox needs none of this, for its sandbox goes. A shared one stays for the neighbours, with what was
 * left in the background; before the session is served again, or its user given to another one, that must be gone.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { Store } from '../store/store.ts'
import { sandboxesOfPack } from '../store/tables/sandboxes.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { removeCredentialDirectory } from './credentials/credential-files.ts'
import { KILL_GRACE_MS } from './executions/cancelling.ts'
import type { Fleet, SandboxRef } from './fleet.ts'
import { inhabitantOf } from './habitats.ts'
import { backendKind } from './reaper.ts'

/** Resolves when nothing of the session runs on this server. Whoever asks while it goes on waits for the same end. */
export type Evict = (session: SessionRow) => Promise<void>

export interface EvictionNeeds {
  readonly store: Store
  readonly fleet: Fleet
  readonly serverId: string
}

export function createEviction({ store, fleet, serverId }: EvictionNeeds): Evict {
  const underWay = new Map<string, Promise<void>>()

  async function evictFrom(ref: SandboxRef, session: SessionRow, uid: number): Promise<void> {
    const live = fleet.get(ref.id) ?? (await attached(fleet, ref))
    if (live === null) return
    // Processes that cannot be proved dead, or secrets that stay, take the sandbox along; its neighbours get another one.
    if (!(await isKilled(live, uid)) || !(await hasNoCredentials(live, session))) await fleet.destroy(ref)
  }

  /** Its uid may be given to another session. */
  async function hasNoCredentials(live: LiveSandbox, session: SessionRow): Promise<boolean> {
    try {
      await removeCredentialDirectory({ inside: await live.connected(), sessionId: session.id, inhabitant: inhabitantOf(session) })
      return true
    } catch (error) {
      // The second often because the last session has left it and it is being destroyed.
      if (isHoldfastError(error, 'file_operation_failed') || isHoldfastError(error, 'guest_unreachable')) return false
      throw error
    }
  }

  async function evict(session: SessionRow): Promise<void> {
    const { packKey, packUid } = session
    if (packKey === null || packUid === null) return
    const shared = await store.read((sql) => sandboxesOfPack(sql, packKey, serverId))
    await Promise.all(shared.map(({ id, backend }) => evictFrom({ id, backend: backendKind(backend) }, session, packUid)))
  }

  return (session) => {
    const known = underWay.get(session.id)
    if (known !== undefined) return known
    const done = evict(session).finally(() => underWay.delete(session.id))
    underWay.set(session.id, done)
    return done
  }
}

async function isKilled(live: LiveSandbox, uid: number): Promise<boolean> {
  try {
    return (await (await live.connected()).processes.killUser(uid, KILL_GRACE_MS)).verified
  } catch (error) {
    // Often because the last session has left it and it is being destroyed.
    if (isHoldfastError(error, 'guest_unreachable')) return false
    throw error
  }
}

/** `null` when it is gone, and with it what ran there. */
export async function attached(fleet: Fleet, ref: SandboxRef): Promise<LiveSandbox | null> {
  try {
    return await fleet.attach(ref)
  } catch (error) {
    if (isHoldfastError(error, 'sandbox_gone')) return null
    throw error
  }
}
