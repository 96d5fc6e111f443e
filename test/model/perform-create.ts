/**
 * Get-or-create, done to the system.
 */
import type { SessionRequest } from '../../packages/server/src/sessions/getting.ts'
import type { Action } from './actions.ts'
import type { Answer } from './possibility.ts'
import { TERMS, WISHES } from './rules.ts'
import type { System } from './system.ts'

/** Whoever would have to wait for another session's end leaves instead. */
const LEAVES = AbortSignal.abort()

export async function performCreate(system: System, action: Extract<Action, { readonly type: 'create' }>): Promise<Answer> {
  const { sessions, scopes } = system.plane
  const { key, scope, keyHash } = scopes.resolveKey(action.key)
  const request: SessionRequest = {
    key: { key, scope, keyHash },
    wish: WISHES[action.wish],
    times: TERMS[action.terms],
    ...(action.isPacked ? { pack: 'shared' } : {}),
    ...(action.onClose === 'unsaid' ? {} : { workspaceOnClose: action.onClose }),
  }
  const { session, isNew } = await sessions.getOrCreate(await system.caller(action.owner), request, LEAVES)
  if (isNew) system.sessionIds.push(session.id)
  return `${isNew ? 'new' : 'known'} ${system.sessionIds.indexOf(session.id)}`
}
