/**
 * Withdraws credentials before a session is suspended or given away: no execution that received one goes on under the next circumstances.
 *
 * Two transactions with the removal between them. The first checks everything that the change itself checks, so that a change which is
 * refused removes nothing.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Transaction } from '../../store/store.ts'
import { runningReceivers } from '../../store/tables/execution-credentials.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import type { Actor } from '../caller.ts'
import type { Changes } from '../change.ts'
import { beginRemoval, lendable } from '../lifecycle/credentials.ts'
import { unchanged } from '../lifecycle/step.ts'
import type { CredentialRemoval } from './removal.ts'

export interface Withdraw {
  readonly actor: Actor
  readonly keepRunning: boolean
  /** Which of the session's credentials. */
  readonly names: (session: SessionRow) => readonly string[]
  /** Throws what the change would throw. */
  readonly check: (session: SessionRow, transaction: Transaction, now: number, receivers: readonly string[]) => Promise<void>
}

export interface Withdrawal {
  /** Resolves with the ids of executions that received one when the sandbox has nothing of them any more: they ended, or run on if kept. */
  withdraw(session: SessionRow, options: Withdraw): Promise<readonly string[]>
}

export interface WithdrawalNeeds {
  readonly changes: Changes
  readonly removal: CredentialRemoval
}

export function createWithdrawal({ changes, removal }: WithdrawalNeeds): Withdrawal {
  return {
    async withdraw(session, { actor, keepRunning, names, check }) {
      let receivers: readonly string[] = []
      const marked = await changes.change(session, { actor, action: 'credential.remove' }, async (row, transaction, now) => {
        const chosen = names(row)
        receivers = chosen.length === 0 ? [] : await runningReceivers(transaction, row.id, chosen)
        await check(row, transaction, now, receivers)
        return chosen.length === 0 ? unchanged(row) : beginRemoval(row, chosen, keepRunning ? 'keep' : 'end')
      })
      await removal.run(marked)
      return receivers
    },
  }
}

export function allNames(session: SessionRow): readonly string[] {
  return lendable(session).map(({ name }) => name)
}

/** Its executions with a credential would end with its sandbox, and the caller asks to keep them. */
export function receiversRun(receivers: readonly string[]): HoldfastError {
  const message = `${receivers.length} executions that received a credential run in this session; leave keep_running out to end them`
  return new HoldfastError('session_busy', message, { running: receivers.length, executions: receivers })
}
