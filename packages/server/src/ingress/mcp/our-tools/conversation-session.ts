/**
 * The session of a conversation: the one that exists, or a new one, by the rules of its pipeline and of the server.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { GetOrCreate } from '../../../sessions/getting.ts'
import { keyOf } from '../../rest/session-requests.ts'
import type { KeyNeeds } from '../../rest/session-requests.ts'
import type { ToolVisit } from './tool-offer.ts'

export interface ConversationSessionsNeeds extends KeyNeeds {
  readonly getOrCreate: GetOrCreate
}

export type SessionIdOf = (visit: ToolVisit, signal: AbortSignal) => Promise<string>

export function conversationSessions({ getOrCreate, ...rules }: ConversationSessionsNeeds): SessionIdOf {
  return async ({ caller, conversation }, signal) => {
    const { session_id: id, session: key, scope, variables, missing, pipeline, profile } = conversation
    if (id !== undefined) return id
    const request = { key: await keyOf({ key, scope, variables, missing, pipeline }, rules, caller), wish: { pipeline, profile } }
    return (await getOrCreate(caller, request, signal)).session.id
  }
}
