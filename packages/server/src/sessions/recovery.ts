/**
 * What a start finds, and what becomes of it: the store's intent against the backends' facts.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * | Row                 | Sandbox                | Becomes |
 * |---------------------|------------------------|---------|
 * | idle, active        | runs, the same guest   | stays; executions are followed on, or get their true end |
 * | idle, active        | gone, or another guest | suspended as lost; its executions are lost |
 * | idle, active        | backend does not answer| stays; tried again at the next call and with every sweep |
 * | pending             | any                    | made anew under the same name |
 * | suspended           | any                    | destroyed: nobody names it |
 * | closing             | any                    | the clean-up goes on; executions get their true end |
 * | none, or closed     | runs, bears our id     | destroyed |
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Store } from '../store/store.ts'
import { findSandbox, hostedSandboxes, remakeSandbox } from '../store/tables/sandboxes.ts'
import { hostedSessions } from '../store/tables/sessions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { SYSTEM } from './caller.ts'
import type { Changes } from './change.ts'
import type { CleanUp } from './clean-up.ts'
import type { Fleet, SandboxRef } from './fleet.ts'
import { resumePending } from './lifecycle/compute.ts'
import type { LoseSandbox } from './losing.ts'
import type { Provisioning } from './provisioning.ts'
import { backendKind } from './reaper.ts'
import type { Reaper } from './reaper.ts'

export interface Recovered {
  readonly sessions: number
  readonly reattached: number
  readonly lost: number
}

export interface RecoveryNeeds {
  readonly store: Store
  readonly serverId: string
  readonly changes: Changes
  readonly fleet: Fleet
  readonly provisioning: Provisioning
  readonly cleanUp: CleanUp
  readonly reaper: Reaper
  readonly lose: LoseSandbox
  /** Its backend did not answer. */
  onUnreached(session: SessionRow): void
  readonly log: Log
}

/** Names of every sandbox that some row still speaks of; anything else of this server is an orphan. */
export async function expectedSandboxes(store: Store, serverId: string): Promise<ReadonlySet<string>> {
  return new Set((await store.read((sql) => hostedSandboxes(sql, serverId))).map(({ id }) => id))
}

export async function recover(needs: RecoveryNeeds): Promise<Recovered> {
  const { store, serverId, changes, provisioning, cleanUp, reaper, log } = needs
  const sessions = await store.read((sql) => hostedSessions(sql, serverId))
  const served = sessions.filter(({ state }) => state === 'idle' || state === 'active')
  const found = await Promise.all(served.map((session) => recoverServed(needs, session)))
  // What runs in a closing one is drained or killed, and its end is the one that the guest knows.
  const closing = sessions.filter(({ state, running }) => state === 'closing' && running > 0)
  await Promise.all(closing.map((session) => recoverServed(needs, session)))
  for (const session of sessions) {
    if (session.state === 'closing') void cleanUp.run(session)
    if (session.state !== 'pending') continue
    const again = await changes.change(session, { actor: SYSTEM, action: 'session.recover' }, (row, _transaction, now) =>
      resumePending(row, now),
    )
    await clearRemains(needs, again)
    provisioning.ensure(again).catch((error: unknown) => log.warn('session-not-resumed', { session: session.id, error: errorText(error) }))
  }
  await reaper.reapAll()
  const count = (what: string) => found.filter((each) => each === what).length
  return { sessions: sessions.length, reattached: count('reattached'), lost: count('lost') }
}

/** What was half made under its name goes before it is made anew. One that others share may be whole: that one is taken. */
async function clearRemains({ store, fleet, log }: RecoveryNeeds, { id, sandboxId }: SessionRow): Promise<void> {
  const row = sandboxId === null ? null : await store.read((sql) => findSandbox(sql, sandboxId))
  if (row === null || fleet.get(row.id) !== undefined) return
  const ref = { id: row.id, backend: backendKind(row.backend) }
  try {
    if (row.state === 'ready' && (await isSameGuest(fleet, ref, row.bootId))) return
    await fleet.destroy(ref)
    await store.write((transaction) => remakeSandbox(transaction, row.id))
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    // Decision: whoever makes it anew finds the same obstacle, and decides about it.
    log.warn('remains-not-cleared', { session: id, sandbox: row.id, error: errorText(error) })
  }
}

async function isSameGuest(fleet: Fleet, ref: SandboxRef, bootId: string | null): Promise<boolean> {
  try {
    return (await fleet.attach(ref)).bootId === bootId
  } catch (error) {
    if (isHoldfastError(error, 'sandbox_gone') || isHoldfastError(error, 'guest_unreachable')) return false
    throw error
  }
}

async function recoverServed(needs: RecoveryNeeds, session: SessionRow): Promise<'reattached' | 'lost' | 'unreachable'> {
  const { store, fleet, lose, onUnreached, log } = needs
  const { sandboxId } = session
  if (sandboxId === null) return 'lost'
  const row = await store.read((sql) => findSandbox(sql, sandboxId))
  try {
    const live = row === null ? null : await fleet.attach({ id: sandboxId, backend: backendKind(row.backend) })
    if (live === null || live.bootId !== row?.bootId) {
      await lose(sandboxId)
      return 'lost'
    }
    return 'reattached'
  } catch (error) {
    if (isHoldfastError(error, 'sandbox_gone')) {
      await lose(sandboxId)
      return 'lost'
    }
    if (!isHoldfastError(error)) throw error
    log.warn('sandbox-not-reached', { session: session.id, sandbox: sandboxId, error: errorText(error) })
    onUnreached(session)
    return 'unreachable'
  }
}
