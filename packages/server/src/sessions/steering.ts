/**
 * What callers do to a session as a whole: refresh, suspend, resume, cancel, release, hold, transfer, label.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Each is one authorization, one pure step and one transaction. What has to follow (a sandbox destroyed, a clean-up begun) follows from
 * the changed row, not from here, so that a crash between the two changes nothing.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxWish } from '@holdfast/protocol'
import type { Transaction } from '../store/store.ts'
import { findOpenSession } from '../store/tables/sessions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { Caller, SessionVerb } from './caller.ts'
import type { Changes, Decide } from './change.ts'
import { allNames, receiversRun } from './credentials/withdrawal.ts'
import type { Withdrawal } from './credentials/withdrawal.ts'
import type { Cancelling, Killed } from './executions/cancelling.ts'
import type { GettingNeeds } from './getting.ts'
import {
  acceptTransfer,
  hold,
  refresh,
  rejectTransfer,
  relabel,
  requestTransfer,
  transfer as transferTo,
  unhold,
} from './lifecycle/care.ts'
import type { Labels, NewOwner, Refresh, Transfer } from './lifecycle/care.ts'
import { beginClosing } from './lifecycle/closing.ts'
import { resetHome, suspend } from './lifecycle/compute.ts'
import { lendable } from './lifecycle/credentials.ts'
import { DRAIN_MS } from './lifecycle/due.ts'
import { checkLive } from './lifecycle/refusals.ts'
import { isLive } from './lifecycle/state.ts'
import { unchanged } from './lifecycle/step.ts'
import type { Step } from './lifecycle/step.ts'
import type { Readiness } from './readiness.ts'
import type { SessionReads } from './session-reads.ts'

export interface Release {
  /** What to do about running work: wait for it (the default), refuse, or kill it. */
  readonly ifBusy?: 'wait' | 'fail' | 'kill' | undefined
  readonly drainMs?: number | undefined
  readonly workspace?: SessionRow['workspaceOnClose'] | undefined
}

export interface Suspend {
  /** Credentials of the session stay for its next sandbox. */
  readonly keepCredentials?: boolean | undefined
  /** Refuses instead of ending executions that received a credential. */
  readonly keepRunning?: boolean | undefined
}

export interface Transferred {
  readonly session: SessionRow
  /** Executions that received a credential of the earlier owner and were kept. */
  readonly keptRunning: readonly string[]
}

export interface Steering {
  refresh(caller: Caller, id: string, wished: Refresh): Promise<SessionRow>
  /** First ends the executions that received a credential which does not stay. Other work that runs is in the way. */
  suspend(caller: Caller, id: string, options?: Suspend): Promise<SessionRow>
  /** Asks for a sandbox; does not wait for it. */
  resume(caller: Caller, id: string): Promise<SessionRow>
  /** Kills what runs; the session lives on. Named processes stay unless asked for. */
  cancelWork(caller: Caller, id: string, options?: { readonly processes?: boolean; readonly graceMs?: number }): Promise<Killed>
  /** Ends the session and kills what runs. A closed one is answered with its record. */
  cancel(caller: Caller, id: string): Promise<SessionRow>
  /** Ends the session after its work. A closed one is answered with its record. */
  release(caller: Caller, id: string, wished?: Release): Promise<SessionRow>
  /**
   * Shows other directories of the host: what runs is killed and the sandbox given up; the next work gets one with these. Throws
   * `session_unavailable` while the present one is being made.
   */
  remount(caller: Caller, id: string, mounts: SandboxWish['mounts']): Promise<SessionRow>
  /** Ends the sandbox and empties the home; the workspace stays. Throws `session_busy` while something runs, unless it is to be killed. */
  resetHome(caller: Caller, id: string, ifBusy: 'fail' | 'kill'): Promise<SessionRow>
  hold(caller: Caller, id: string, reason: string | null): Promise<SessionRow>
  unhold(caller: Caller, id: string): Promise<SessionRow>
  /**
   * Gives it away at once where the caller may, otherwise asks its owner: `pendingTransfer` is set then. Credentials do not go along; the
   * executions that received one are ended first, unless they are to be kept.
   */
  transfer(caller: Caller, id: string, target: Transfer, keepRunning?: boolean): Promise<Transferred>
  /** Throws `invalid_state` unless exactly this transfer waits for consent. */
  acceptTransfer(caller: Caller, id: string, accepted: NewOwner, keepRunning?: boolean): Promise<Transferred>
  /** Also takes back a request. */
  rejectTransfer(caller: Caller, id: string): Promise<SessionRow>
  relabel(caller: Caller, id: string, wished: Labels): Promise<SessionRow>
}

export interface SteeringNeeds {
  readonly reads: SessionReads
  readonly changes: Changes
  readonly readiness: Readiness
  readonly cancelling: Cancelling
  readonly checkWish: GettingNeeds['checkWish']
  readonly withdrawal: Withdrawal
}

/** The owner may lend another credential while the earlier ones are removed. */
const MAX_WITHDRAWALS = 4

export function createSteering({ reads, changes, readiness, cancelling, checkWish, withdrawal }: SteeringNeeds): Steering {
  async function steer(caller: Caller, verb: SessionVerb, id: string, decide: Decide, action = `session.${verb}`): Promise<SessionRow> {
    const session = await reads.open(caller, verb, id)
    return changes.change(session, { actor: caller.actor, action }, (row, transaction, now) => {
      // Seen a moment ago; given to somebody else meanwhile, it is not this caller's any more.
      if (!caller.may(verb, row)) throw new HoldfastError('forbidden', `you may see this session, but not ${verb} it`, { verb })
      return decide(row, transaction, now)
    })
  }

  const cancelWork: Steering['cancelWork'] = async (caller, id, options = {}) => kill(await reads.open(caller, 'cancel-work', id), options)

  async function kill(session: SessionRow, options: NonNullable<Parameters<Steering['cancelWork']>[2]>): Promise<Killed> {
    checkLive(session)
    const live = await readiness.reach(session)
    if (live === null) return { executions: 0, killed: 0, verified: true }
    const { processes = false, graceMs } = options
    return cancelling.all(session, live, { processes, ...(graceMs === undefined ? {} : { graceMs }) })
  }

  /** What ends before the sandbox is given up. A suspension that is refused for another reason ends nothing. */
  async function withdrawToSuspend(caller: Caller, id: string, keepRunning: boolean): Promise<void> {
    const session = await reads.open(caller, 'suspend', id)
    if (session.credentials.length === 0 || session.running === 0) return
    await readiness.reach(session)
    await withdrawal.withdraw(session, {
      ...{ actor: caller.actor, keepRunning: false },
      names: (row) => (row.running === 0 ? [] : lendable(row).flatMap(({ name, onSuspend }) => (onSuspend === 'keep' ? [] : [name]))),
      async check(row, _transaction, now, receivers) {
        if (receivers.length > 0 && keepRunning) throw receiversRun(receivers)
        suspend({ ...row, running: row.running - receivers.length }, 'caller', now)
      },
    })
  }

  /** `decide` may be called before the credentials are withdrawn, to see whether it refuses, and is called again afterwards. */
  async function give(
    caller: Caller,
    verb: 'transfer' | 'accept-transfer',
    id: string,
    keepRunning: boolean,
    decide: (row: SessionRow, transaction: Transaction, now: number, isFirst: boolean) => Promise<Step>,
  ): Promise<Transferred> {
    const kept = new Set<string>()
    for (let turn = 0; turn < MAX_WITHDRAWALS; turn += 1) {
      let isGiven = true
      const session = await steer(caller, verb, id, async (row, transaction, now) => {
        const step = await decide(row, transaction, now, turn === 0)
        // A request for consent changes no owner.
        isGiven = step.session.owner === row.owner || row.credentials.length === 0
        return isGiven ? step : unchanged(row)
      })
      if (isGiven) return { session, keptRunning: [...kept] }
      await readiness.reach(session)
      const receivers = await withdrawal.withdraw(session, {
        ...{ actor: caller.actor, keepRunning, names: allNames },
        async check(row, transaction, now) {
          if (!caller.may(verb, row)) throw new HoldfastError('forbidden', `you may see this session, but not ${verb} it`, { verb })
          await decide(row, transaction, now, turn === 0)
        },
      })
      if (keepRunning) for (const receiver of receivers) kept.add(receiver)
    }
    throw new HoldfastError('version_conflict', 'credentials are lent to this session while it is given away')
  }

  return {
    refresh: (caller, id, wished) => steer(caller, 'refresh', id, (row, _, now) => refresh(row, wished, now)),
    async suspend(caller, id, { keepCredentials = false, keepRunning = false } = {}) {
      if (!keepCredentials) await withdrawToSuspend(caller, id, keepRunning)
      return steer(caller, 'suspend', id, (row, _, now) => suspend(row, 'caller', now, keepCredentials))
    },
    async resume(caller, id) {
      const session = await reads.open(caller, 'resume', id)
      checkLive(session)
      return readiness.resume(session, caller.actor)
    },
    cancelWork,
    async remount(caller, id, mounts) {
      const { wish: earlier, tenantId, owner, packKey } = await reads.open(caller, 'suspend', id)
      await checkWish({ ...earlier, mounts }, { tenantId, owner, isPacked: packKey !== null })
      await cancelWork(caller, id, { processes: true, graceMs: 0 })
      return steer(caller, 'suspend', id, (row, _, now) => {
        const { session, events } = suspend(row, 'caller', now, true)
        const { mounts: _earlier, ...wish } = session.wish
        return { session: { ...session, wish: mounts === undefined ? wish : { ...wish, mounts } }, events }
      })
    },
    async resetHome(caller, id, ifBusy) {
      // A caller who may write files may remove them all; that the sandbox ends is part of it.
      if (ifBusy === 'kill') await kill(await reads.open(caller, 'files', id), { processes: true, graceMs: 0 })
      return steer(caller, 'files', id, (row, _, now) => resetHome(row, now), 'session.reset-home')
    },
    cancel: (caller, id) => steer(caller, 'cancel', id, (row, _, now) => beginClosing(row, { reason: 'cancel', detail: 'caller' }, now)),
    release: (caller, id, { ifBusy = 'wait', drainMs = DRAIN_MS, workspace } = {}) =>
      steer(caller, 'release', id, (row, _, now) => {
        if (ifBusy === 'fail' && row.running > 0 && isLive(row.state))
          throw new HoldfastError('session_busy', `${row.running} executions run in this session`, { running: row.running })
        const closing = { reason: 'release', detail: 'caller', drainMs: ifBusy === 'wait' ? drainMs : 0 } as const
        return beginClosing(row, workspace === undefined ? closing : { ...closing, workspace }, now)
      }),
    hold: (caller, id, reason) => steer(caller, 'hold', id, (row, _, now) => hold(row, caller.actor.subject, reason, now)),
    unhold: (caller, id) => steer(caller, 'hold', id, (row, _, now) => unhold(row, now)),
    transfer: (caller, id, target, keepRunning = false) =>
      give(caller, 'transfer', id, keepRunning, async (row, transaction, now, isFirst) => {
        // The removal of credentials between the two transactions has changed the version.
        const transfer = isFirst ? target : { ...target, expectedVersion: row.version }
        await checkKeyIsFree(transaction, row, target.owner)
        return caller.may('transfer-now', row) ? transferTo(row, transfer) : requestTransfer(row, transfer, caller.actor.subject, now)
      }),
    acceptTransfer: (caller, id, accepted, keepRunning = false) =>
      give(caller, 'accept-transfer', id, keepRunning, async (row, transaction) => {
        await checkKeyIsFree(transaction, row, accepted.owner)
        return acceptTransfer(row, accepted)
      }),
    rejectTransfer: (caller, id) => steer(caller, 'reject-transfer', id, (row) => rejectTransfer(row)),
    relabel: (caller, id, wished) => steer(caller, 'update', id, (row) => relabel(row, wished)),
  }
}

async function checkKeyIsFree(transaction: Transaction, { id, tenantId, keyHash }: SessionRow, owner: string): Promise<void> {
  const rival = await findOpenSession(transaction, tenantId, owner, keyHash)
  if (rival !== null && rival.id !== id) throw new HoldfastError('name_taken', 'the new owner has an open session with this key')
}
