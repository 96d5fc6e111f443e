/**
 * What one execution receives of its session's credentials: recorded with the execution, delivered right before its program starts.
 *
 * A session without credentials takes part in none of this: no statement, no file, no copy of the environment.
 */
import type { Inside } from '../../guest/inside.ts'
import type { Sealing } from '../../home/sealing.ts'
import type { Transaction } from '../../store/store.ts'
import { credentialValues } from '../../store/tables/credentials.ts'
import { noteCredentials } from '../../store/tables/execution-credentials.ts'
import type { LentCredential, SessionRow } from '../../store/tables/sessions.ts'
import type { Inhabitant } from '../executions/command.ts'
import { lendable } from '../lifecycle/credentials.ts'
import { credentialPath, writeCredentialFiles } from './credential-files.ts'

export interface Loan {
  /** In the transaction that inserts the execution, so that a removal finds every receiver. */
  record(transaction: Transaction, session: SessionRow, executionId: string): Promise<void>
  /** Writes the files and returns the environment; `null`: there is nothing to deliver. Throws `config_invalid` for values of another key. */
  deliver(inside: Inside, sessionId: string, inhabitant: Inhabitant | null): Promise<Readonly<Record<string, string>> | null>
}

export function createLoan(sealing: Sealing): Loan {
  let lent: readonly (LentCredential & { readonly sealed: Uint8Array })[] = []
  return {
    async record(transaction, session, executionId) {
      const credentials = lendable(session)
      lent = []
      if (credentials.length === 0) return
      await noteCredentials(
        transaction,
        executionId,
        credentials.map(({ name }) => name),
      )
      const values = new Map((await credentialValues(transaction, session.id)).map(({ name, value }) => [name, value]))
      lent = credentials.flatMap((credential) => {
        const sealed = values.get(credential.name)
        return sealed === undefined ? [] : [{ ...credential, sealed }]
      })
    },
    async deliver(inside, sessionId, inhabitant) {
      if (lent.length === 0) return null
      const opened = lent.map(({ name, as, sealed }) => ({ name, as, value: sealing.open(sealed, credentialContext(sessionId, name)) }))
      lent = []
      const files = opened.filter(({ as }) => as === 'file')
      if (files.length > 0) await writeCredentialFiles({ inside, sessionId, inhabitant }, files)
      return Object.fromEntries(
        opened.map(({ name, as, value }) => [name, as === 'file' ? credentialPath(sessionId, name) : Buffer.from(value).toString()]),
      )
    },
  }
}

/** What a value is sealed for: in the row of another session or name it does not open. */
export function credentialContext(sessionId: string, name: string): string {
  return `credential ${sessionId} ${name}`
}
