/**
 * Credentials in a session's row: lent, replaced, being removed, removed.
 *
 * A credential with a `removal` is given to no further execution and its value is no longer stored (`../change.ts` deletes it in the same
 * transaction); the entry stays until the sandbox has nothing of it, so that a restart goes on with the removal.
 */
import { HoldfastError, MAXIMUM_CREDENTIAL_ENV_BYTES, MAXIMUM_CREDENTIALS } from '@holdfast/protocol'
import type { LentCredential, SessionRow } from '../../store/tables/sessions.ts'
import { checkLive } from './refusals.ts'
import { step, unchanged } from './step.ts'
import type { EventDraft, Step } from './step.ts'

export type CredentialFields = Pick<LentCredential, 'name' | 'as' | 'bytes' | 'onSuspend'>
export type Removal = NonNullable<LentCredential['removal']>

/** What an execution that starts now receives. */
export function lendable({ credentials }: Pick<SessionRow, 'credentials'>): readonly LentCredential[] {
  return credentials.every(({ removal }) => removal === null) ? credentials : credentials.filter(({ removal }) => removal === null)
}

/** Creates it or replaces its value. Throws `quota_exceeded` when the session has too many, or too long ones. */
export function putCredential(session: SessionRow, put: CredentialFields, now: number): Step {
  checkLive(session)
  const earlier = session.credentials.find(({ name }) => name === put.name)
  if (earlier !== undefined && earlier.removal !== null)
    throw new HoldfastError('invalid_state', `the credential ${put.name} is being removed; retry when it is gone`, { name: put.name })
  const others = session.credentials.filter((credential) => credential !== earlier)
  checkRoom([...others, put])
  const created = { ...put, createdAt: earlier?.createdAt ?? now, replacedAt: earlier === undefined ? null : now, removal: null }
  const type = earlier === undefined ? 'credential.created' : 'credential.replaced'
  return step(session, { credentials: [...others, created] }, { type, data: { name: put.name, as: put.as } })
}

/** Where a sandbox may have something of them they are marked, otherwise they are gone at once. */
export function beginRemoval(session: SessionRow, names: readonly string[], removal: Removal): Step {
  checkLive(session)
  const chosen = lendable(session).filter(({ name }) => names.includes(name))
  if (chosen.length === 0) return unchanged(session)
  if (session.state !== 'idle' && session.state !== 'active') return drop(session, chosen)
  const credentials = session.credentials.map((credential) => (chosen.includes(credential) ? { ...credential, removal } : credential))
  return step(session, { credentials }, ...chosen.map(({ name }): EventDraft => ({ type: 'credential.removing', data: { name } })))
}

/** The sandbox has nothing of these any more. */
export function finishRemoval(session: SessionRow, names: readonly string[]): Step {
  return drop(
    session,
    session.credentials.filter(({ name, removal }) => removal !== null && names.includes(name)),
  )
}

/** All of them, before the session's work is killed: no value is stored any more. Part of a closing step. */
export function withdrawn({ credentials }: SessionRow): readonly LentCredential[] {
  return credentials.map((credential) => (credential.removal === null ? { ...credential, removal: 'end' } : credential))
}

/** What is left of them after `stays`, and the events of the others. Part of a step that gives up the sandbox. */
export function without(
  { credentials }: Pick<SessionRow, 'credentials'>,
  reason: string | null,
  stays: (credential: LentCredential) => boolean,
): { readonly credentials: readonly LentCredential[]; readonly events: readonly EventDraft[] } {
  const gone = credentials.filter((credential) => !stays(credential))
  if (gone.length === 0) return { credentials, events: [] }
  return {
    credentials: credentials.filter(stays),
    events: gone.map(({ name }): EventDraft => ({ type: 'credential.removed', ...(reason === null ? {} : { reason }), data: { name } })),
  }
}

/** Names whose entry differs, for the audit. */
export function changedNames(before: readonly LentCredential[], after: readonly LentCredential[]): readonly string[] {
  if (before === after) return []
  const known = new Map(before.map((credential) => [credential.name, credential]))
  const changed = after.filter((credential) => known.get(credential.name) !== credential).map(({ name }) => name)
  const kept = new Set(after.map(({ name }) => name))
  return [...changed, ...before.filter(({ name }) => !kept.has(name)).map(({ name }) => name)]
}

function drop(session: SessionRow, gone: readonly LentCredential[]): Step {
  if (gone.length === 0) return unchanged(session)
  const { credentials, events } = without(session, null, (credential) => !gone.includes(credential))
  return step(session, { credentials }, ...events)
}

function checkRoom(credentials: readonly CredentialFields[]): void {
  if (credentials.length > MAXIMUM_CREDENTIALS)
    throw new HoldfastError('quota_exceeded', `a session has at most ${MAXIMUM_CREDENTIALS} credentials; remove one first`, {
      ...{ quota: 'credentials_per_session', limit: MAXIMUM_CREDENTIALS, used: credentials.length - 1 },
    })
  const bytes = credentials.reduce((total, { as, bytes: length }) => total + (as === 'env' ? length : 0), 0)
  if (bytes > MAXIMUM_CREDENTIAL_ENV_BYTES)
    throw new HoldfastError(
      'quota_exceeded',
      `credentials that are environment variables have at most ${MAXIMUM_CREDENTIAL_ENV_BYTES} bytes together, with this one ${bytes}; send as: "file"`,
      { quota: 'credential_env_bytes', limit: MAXIMUM_CREDENTIAL_ENV_BYTES },
    )
}
