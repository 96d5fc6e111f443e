/**
 * From `pending` to a sandbox that is ready: once for each session, however many callers wait.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Everything it does can be done again after a crash: the sandbox's name was written down before, and an earlier sandbox over the same
 * workspace is gone before the next one is made.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { Store } from '../store/store.ts'
import { findSandbox, markSandboxReady, remakeSandbox, sandboxesOfSession } from '../store/tables/sandboxes.ts'
import type { SessionRef, SessionRow } from '../store/tables/sessions.ts'
import type { Log } from '../telemetry/log.ts'
import { SYSTEM } from './caller.ts'
import { noSuchSession } from './change.ts'
import type { Changes } from './change.ts'
import { attached } from './eviction.ts'
import type { Evict } from './eviction.ts'
import type { Fleet, SandboxRef } from './fleet.ts'
import type { Habitats } from './habitats.ts'
import { becomeReady, failToStart } from './lifecycle/compute.ts'
import { unchanged } from './lifecycle/step.ts'
import { backendKind } from './reaper.ts'
import type { Reaper } from './reaper.ts'
import type { SessionReads } from './session-reads.ts'

export interface Provisioning {
  /** Gives the row once it is not pending any more. Rejects with what kept the sandbox from being made. */
  ensure(ref: SessionRef): Promise<SessionRow>
  /** Sessions whose sandbox is being made. */
  readonly count: number
  /** Resolves when nothing is being made for this session. */
  settled(sessionId: string): Promise<void>
  /** Leaves what is being made to the next start. */
  stop(): void
}

export interface ProvisioningNeeds {
  readonly store: Store
  readonly reads: SessionReads
  readonly changes: Changes
  readonly fleet: Fleet
  readonly evict: Evict
  readonly reaper: Reaper
  readonly habitats: Habitats
  /** Resolves when the sandboxes that made room for this one are gone. */
  vacated(): Promise<void>
  readonly log: Log
}

export function createProvisioning({
  store,
  reads,
  changes,
  fleet,
  evict,
  reaper,
  habitats,
  vacated,
  log,
}: ProvisioningNeeds): Provisioning {
  const underWay = new Map<string, Promise<SessionRow>>()
  let isStopping = false

  async function provision(ref: SessionRef): Promise<SessionRow> {
    const session = await reads.hosted(ref)
    if (session === null) throw noSuchSession()
    const { sandboxId } = session
    if (session.state !== 'pending' || sandboxId === null) return session
    try {
      await endEarlier(session, sandboxId)
      const sandbox = await store.read((sql) => findSandbox(sql, sandboxId))
      if (sandbox === null) throw new HoldfastError('sandbox_gone', 'the sandbox was given up while it was being made')
      if (sandbox.state === 'ready') await remakeIfGone({ id: sandboxId, backend: backendKind(sandbox.backend) })
      const backend = backendKind(sandbox.backend)
      const habitat = await habitats.prepare(session, backend)
      await vacated()
      const live = await fleet.launch({ id: sandboxId, backend }, habitat.spec)
      const ready = await changes.change(session, { actor: SYSTEM, action: 'session.ready' }, async (row, transaction, now) => {
        const isWanted = await markSandboxReady(transaction, sandboxId, live.bootId)
        return isWanted ? becomeReady(row, sandboxId, habitat.verdict, now) : unchanged(row)
      })
      log.info('sandbox-started', { session: session.id, sandbox: sandboxId, incarnation: session.incarnation })
      return ready
    } catch (error) {
      if (isStopping) throw new HoldfastError('server_stopping', 'the server is stopping', {}, { cause: error })
      await giveUp(session, sandboxId, error)
      throw error
    }
  }

  /** One that others have already may have died without their knowing. */
  async function remakeIfGone(ref: SandboxRef): Promise<void> {
    if (fleet.get(ref.id) !== undefined || (await attached(fleet, ref)) !== null) return
    await fleet.destroy(ref)
    await store.write((transaction) => remakeSandbox(transaction, ref.id))
  }

  /** Two sandboxes must never write one workspace. */
  async function endEarlier(session: SessionRow, sandboxId: string): Promise<void> {
    if (session.pendingReason !== 'create') await evict(session)
    const earlier = await store.read((sql) => sandboxesOfSession(sql, session.id))
    for (const { id, backend, serverId } of earlier) {
      // One on another server has another copy of the workspace, and is removed there.
      if (id === sandboxId || serverId !== session.serverId) continue
      await fleet.destroy({ id, backend: backendKind(backend) })
      await reaper.reap(id)
    }
  }

  async function giveUp(session: SessionRow, sandboxId: string, error: unknown): Promise<void> {
    const failure = isHoldfastError(error)
      ? { code: error.code, message: error.message }
      : { code: 'internal', message: 'the sandbox could not be made' }
    await changes.change(session, { actor: SYSTEM, action: 'session.fail-to-start' }, (row, _transaction, now) =>
      failToStart(row, sandboxId, failure, now),
    )
    await reaper.reap(sandboxId)
  }

  return {
    get count() {
      return underWay.size
    },
    ensure(ref) {
      const known = underWay.get(ref.id)
      if (known !== undefined) return known
      const made = provision(ref).finally(() => underWay.delete(ref.id))
      underWay.set(ref.id, made)
      return made
    },
    async settled(sessionId) {
      // How it ended is for those who asked for it.
      await underWay.get(sessionId)?.catch(() => undefined)
    },
    stop() {
      isStopping = true
    },
  }
}
