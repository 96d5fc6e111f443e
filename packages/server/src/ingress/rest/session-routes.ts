/**
 * `/v1/sessions`: get or create, look at, label.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CreateSessionBody, isHoldfastError, ListSessionsQuery, pageOf, SessionRecord, UpdateSessionBody } from '@holdfast/protocol'
import type { EventListeners } from '../../sessions/events/event-listeners.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { untilSession } from '../../sessions/waiting.ts'
import type { SessionFilter, SessionRow } from '../../store/tables/sessions.ts'
import type { Pages } from './page-tokens.ts'
import { OneId } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'
import { sessionRecord } from './session-record.ts'
import { CREATE_ERRORS, sessionRequest } from './session-requests.ts'
import type { KeyNeeds } from './session-requests.ts'
import { etag } from './versions.ts'

export interface SessionRoutesNeeds extends KeyNeeds {
  readonly sessions: Pick<Sessions, 'getOrCreate' | 'reads' | 'steering'>
  readonly listeners: EventListeners
  readonly pages: Pages
}

export function sessionRoutes({ sessions, scopes, pipelines, listeners, pages }: SessionRoutesNeeds): readonly Route[] {
  const { getOrCreate, reads, steering } = sessions

  /** Until its sandbox is there or cannot be had, the time is up, or the client has left: then it is shown as it is. */
  async function untilReady(session: SessionRow, waitMs: number, signal: AbortSignal): Promise<SessionRow> {
    if (waitMs === 0 || session.state !== 'pending') return session
    const patience = AbortSignal.any([signal, AbortSignal.timeout(waitMs)])
    try {
      return await untilSession(session, ({ state }) => state !== 'pending', { reads, listeners, signal: patience })
    } catch (error) {
      if (!isHoldfastError(error, 'request_cancelled')) throw error
      return (await reads.hosted(session)) ?? session
    }
  }

  return [
    route({
      method: 'POST',
      path: '/v1/sessions',
      summary: 'Get the open session of a key, or create it',
      authorization: 'create',
      body: CreateSessionBody,
      answers: {
        200: json('Session', SessionRecord, 'The open session that has this key'),
        201: json('Session', SessionRecord, 'A new session'),
      },
      errors: CREATE_ERRORS,
      isRepeatable: true,
      async handle({ caller, body, signal }) {
        const { session, isNew } = await getOrCreate(caller, await sessionRequest(body, { scopes, pipelines }, caller), signal)
        const shown = await untilReady(session, body.wait_ms, signal)
        const reply = { body: sessionRecord(shown), headers: { ...etag(shown), location: `/v1/sessions/${shown.id}` } }
        return isNew ? { status: 201, ...reply } : { status: 200, ...reply }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions',
      summary: 'List sessions, newest first',
      authorization: 'list',
      query: ListSessionsQuery,
      answers: { 200: json('SessionPage', pageOf(SessionRecord), 'Those that exist for the caller') },
      errors: ['invalid_page_token'],
      async handle(call) {
        const { state, owner, key, sandbox, label } = call.query
        const filter: SessionFilter = {
          ...(state === undefined ? {} : { states: state }),
          ...(owner === undefined ? {} : { owner }),
          ...(key === undefined ? {} : { key }),
          ...(sandbox === undefined ? {} : { sandboxId: sandbox }),
          ...(label === undefined ? {} : { labels: label }),
        }
        const body = await pages.page(
          call,
          'sessions',
          (after, limit) => reads.list(call.caller, filter, after === null ? null : { createdAt: after[0], id: after[1] }, limit),
          ({ createdAt, id }) => [createdAt, id, 0],
          sessionRecord,
        )
        return { status: 200, body }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}',
      summary: 'Look at a session; this is no activity',
      authorization: 'read',
      params: OneId,
      answers: { 200: json('Session', SessionRecord, 'The session') },
      errors: ['not_found'],
      async handle({ caller, params }) {
        const session = await reads.open(caller, 'read', params.id)
        return { status: 200, body: sessionRecord(session), headers: etag(session) }
      },
    }),
    route({
      method: 'PATCH',
      path: '/v1/sessions/{id}',
      summary: 'Replace the labels or the metadata of a session',
      authorization: 'update',
      params: OneId,
      body: UpdateSessionBody,
      ifMatch: 'optional',
      answers: { 200: json('Session', SessionRecord, 'The session after the change') },
      errors: ['not_found', 'forbidden', 'version_conflict', 'session_closed'],
      async handle({ caller, params, body, ifMatch }) {
        const session = await steering.relabel(caller, params.id, { ...body, expectedVersion: ifMatch })
        return { status: 200, body: sessionRecord(session), headers: etag(session) }
      },
    }),
  ]
}
