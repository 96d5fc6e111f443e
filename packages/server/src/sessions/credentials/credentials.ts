/**
 * Credentials of a session as its callers see them: lent by name, listed without values, removed from everything that received them.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { CredentialForm } from '@holdfast/protocol'
import type { Sealing } from '../../home/sealing.ts'
import { putCredentialValue } from '../../store/tables/credentials.ts'
import type { LentCredential } from '../../store/tables/sessions.ts'
import type { Caller } from '../caller.ts'
import type { Changes } from '../change.ts'
import { putCredential } from '../lifecycle/credentials.ts'
import { checkLive } from '../lifecycle/refusals.ts'
import type { Readiness } from '../readiness.ts'
import type { SessionReads } from '../session-reads.ts'
import { credentialContext } from './loan.ts'
import type { Withdrawal } from './withdrawal.ts'

export interface PutCredential {
  readonly name: string
  readonly value: string
  readonly as: CredentialForm
  readonly onSuspend: LentCredential['onSuspend']
}

export interface RemovedCredential {
  readonly ended: readonly string[]
  readonly keptRunning: readonly string[]
}

export interface Credentials {
  /** For executions that start from now on. */
  put(caller: Caller, sessionId: string, put: PutCredential): Promise<LentCredential>
  list(caller: Caller, sessionId: string): Promise<readonly LentCredential[]>
  /** Resolves when the sandbox has nothing of it any more, except what programs wrote elsewhere or, with `keepRunning`, still hold. */
  remove(caller: Caller, sessionId: string, name: string, keepRunning: boolean): Promise<RemovedCredential>
}

export interface CredentialsNeeds {
  readonly sealing: Sealing
  readonly reads: SessionReads
  readonly changes: Changes
  readonly readiness: Pick<Readiness, 'reach'>
  readonly withdrawal: Withdrawal
}

export function createCredentials({ sealing, reads, changes, readiness, withdrawal }: CredentialsNeeds): Credentials {
  return {
    async put(caller, sessionId, { name, value, as, onSuspend }) {
      const session = await reads.open(caller, 'exec', sessionId)
      const bytes = Buffer.from(value)
      const sealed = sealing.seal(bytes, credentialContext(sessionId, name))
      const after = await changes.change(session, { actor: caller.actor, action: 'credential.put' }, async (row, transaction, now) => {
        if (!caller.may('exec', row)) throw new HoldfastError('forbidden', 'the session was given to somebody else', { verb: 'exec' })
        const step = putCredential(row, { name, as, bytes: bytes.length, onSuspend }, now)
        await putCredentialValue(transaction, { sessionId, name, value: sealed })
        return step
      })
      const credential = after.credentials.find((known) => known.name === name)
      if (credential === undefined) throw new HoldfastError('internal', 'a credential is not in the row that it was written to')
      return credential
    },
    list: async (caller, sessionId) =>
      (await reads.open(caller, 'read', sessionId)).credentials.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    async remove(caller, sessionId, name, keepRunning) {
      const session = await reads.open(caller, 'cancel-work', sessionId)
      checkLive(session)
      // Throws when another server has to do this, before anything is changed.
      await readiness.reach(session)
      const receivers = await withdrawal.withdraw(session, {
        ...{ actor: caller.actor, keepRunning, names: () => [name] },
        async check(row) {
          if (!caller.may('cancel-work', row))
            throw new HoldfastError('forbidden', 'the session was given to somebody else', { verb: 'cancel-work' })
          if (!row.credentials.some((known) => known.name === name))
            throw new HoldfastError('not_found', 'there is no credential of this name in this session')
        },
      })
      return keepRunning ? { ended: [], keptRunning: receivers } : { ended: receivers, keptRunning: [] }
    },
  }
}
